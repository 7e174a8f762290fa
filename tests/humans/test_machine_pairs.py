"""Pairs for a judge: a model's turn and a person's after one answer, and controls of one kind."""

import polars as pl

from tests.support.paired_study import people_of, turns_of
from userturn.humans.machine_pairs import (
    TWO_OF_A_MODEL,
    TWO_PEOPLE,
    WITH_A_PERSON,
    ToTellApart,
    drawn,
    pairs_of_models,
    pairs_of_people,
)
from userturn.judges.tell_apart import Pair

TOKENS = ["<|im_end|>"]


def test_a_turn_stands_beside_the_persons_after_the_same_answer() -> None:
    found = list(pairs_of_models(turns_of(2), people_of(2), TOKENS))
    assert [(one.kind, one.model, one.conversation) for one in found] == [
        (WITH_A_PERSON, "a-1b", "conversation 0"),
        (WITH_A_PERSON, "a-1b", "conversation 1"),
    ]
    messages = [{"role": "user", "content": "Question 0?"}]
    texts = "A machine's words 0", "What a person wrote 0"
    assert found[0].pair == Pair(messages, "An answer of the dataset.", *texts)


def test_two_different_turns_of_a_model_after_one_answer_are_a_control() -> None:
    hot = turns_of(1, temperature=1.0).with_columns(text=pl.lit("Other words"))
    again = turns_of(1, temperature=0.5)  # says the same as at 0
    found = list(pairs_of_models(pl.concat([turns_of(1), again, hot]), people_of(1), TOKENS))
    (control,) = (one for one in found if one.kind == TWO_OF_A_MODEL)
    assert control.pair[2:] == ("A machine's words 0", "Other words")


def test_two_people_after_one_answer_are_a_control_and_after_others_are_not() -> None:
    people = people_of(3)
    messages = [[{"role": "user", "content": f"Question {k}?"}] for k in (0, 0, 2)]
    context = [[*said, {"role": "assistant", "content": "Well."}] for said in messages]
    names = {"dataset": ["d"] * 3, "item": people["item"].to_list()}
    items = pl.DataFrame({**names, "messages": messages, "reference_context": context})
    (control,) = pairs_of_people(items, people, TOKENS)
    assert (control.kind, control.pair.answer) == (TWO_PEOPLE, "Well.")
    assert control.pair[2:] == ("What a person wrote 0", "What a person wrote 1")


def test_a_draw_has_a_conversation_once_a_kind_and_more_pairs_keep_those_of_fewer() -> None:
    def one(kind: str, number: int, text: str) -> ToTellApart:
        return ToTellApart(kind, "m", f"c{number}", Pair([], "a", text, "b"))

    pairs = [one(k, n, t) for k in (WITH_A_PERSON, TWO_OF_A_MODEL) for n in range(9) for t in "xy"]
    few, all_of_them = drawn(pairs, 4), drawn(pairs, 99)
    assert (len(few), len(all_of_them)) == (8, 18)
    assert all(pair in all_of_them for pair in few)
    assert drawn(pairs[::-1], 4) == few
