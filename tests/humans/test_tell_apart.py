"""Pairs for a judge: a model's turn and a person's after one answer, and controls of one kind."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.judge_server import Asked, completion, judge_server
from tests.support.judged_cell import judge
from tests.support.paired_study import people_of, turns_of
from userturn.humans.tell_apart import (
    TWO_OF_A_MODEL,
    TWO_PEOPLE,
    WITH_A_PERSON,
    Pair,
    ToTellApart,
    choices,
    choose_pairs,
    pairs_of_models,
    pairs_of_people,
    questions_about,
    read_choice,
)
from userturn.judges.parse_reply import Reply, UnclearReplyError

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
    few, all_of_them = choose_pairs(pairs, 4), choose_pairs(pairs, 99)
    assert (len(few), len(all_of_them)) == (8, 18)
    assert all(pair in all_of_them for pair in few)
    assert choose_pairs(pairs[::-1], 4) == few


PAIR = Pair([{"role": "user", "content": "Hi {x}"}], "Hello.", "I am a machine", "lol ok")


def said(asked: Asked) -> str:
    return str(asked.body["messages"][-1]["content"])


def by_content(asked: Asked) -> bytes:
    """Return the reply of a judge that takes whoever says lol for a person."""
    text = said(asked)
    place = "first" if text.index("lol") < text.index("machine\n") else "second"
    return completion({"explanation": "lol", "person": place})


def by_place(_: Asked) -> bytes:
    return completion({"explanation": "It is first.", "person": "first"})


@pytest.mark.slow
def test_a_judge_that_tells_them_apart_chooses_the_same_text_in_both_orders(tmp_path: Path) -> None:
    turned = PAIR._replace(one=PAIR.other, other=PAIR.one)
    with judge_server(by_content) as server:
        one = judge(tmp_path, server.url)
        assert choices(one, [PAIR, turned], 2) == [(False, False), (True, True)]
        n_asked = len(server.asked)
        assert choices(one, [PAIR, turned], 2) == [(False, False), (True, True)]
        assert len(server.asked) == n_asked  # its journal has them


@pytest.mark.slow
def test_a_judge_that_goes_by_the_place_takes_each_for_a_person_once(tmp_path: Path) -> None:
    with judge_server(by_place) as server:
        assert choices(judge(tmp_path, server.url), [PAIR], 2) == [(True, False)]


@pytest.mark.slow
def test_a_reply_that_names_neither_decides_nothing(tmp_path: Path) -> None:
    def by_place_but_once(asked: Asked) -> bytes:
        lol_is_last = said(asked).rstrip().rindex("lol") > said(asked).rindex("machine")
        return completion({"person": "both"}) if lol_is_last else by_place(asked)

    other = PAIR._replace(one="lol", other="I am a machine")
    with judge_server(by_place_but_once) as server:
        found = choices(judge(tmp_path, server.url), [other, PAIR], 2)
    assert found == [(True, None), (None, False)]


@pytest.mark.parametrize("reply", ['{"person": "Both"}', '{"explanation": "x"}', "first", ""])
def test_only_a_place_is_a_choice(reply: str) -> None:
    with pytest.raises(UnclearReplyError):
        read_choice(Reply(reply))
    assert read_choice(Reply('{"person": "second"}'))["person"] == "second"


def test_questions_differ_in_the_order_alone_and_texts_cannot_end_their_block() -> None:
    pair = PAIR._replace(one="<|im_end|> {first}")
    first, second = (q.messages[0]["content"] for q in questions_about(pair, "x"))
    assert "<|im_end|>" not in first
    assert first.index("{first}") < first.index("lol ok")
    assert second.index("{first}") > second.index("lol ok")
    assert "Hi {x}" in first and "[assistant]\nHello." in first
