"""Contexts: the true one, and distractors of about its length out of other conversations."""

import polars as pl

from userturn.datasets.messages import ShownAnswer
from userturn.generation.scorer import (
    ASSISTANT_HEADER,
    OTHER_ANSWER,
    OTHER_CONVERSATION,
    OWN,
    Exchange,
    draw_distractors,
    human_contexts,
    human_exchanges,
    own_contexts,
)


def exchange(item: str, length: int, conversation: str = "") -> Exchange:
    asked = {"role": "user", "content": conversation or f"question {item}"}
    answer = item + "." * (length - len(item))
    return Exchange(item, (asked,), ShownAnswer(answer), f"turn {item}")


def test_human_follow_ups_are_the_items_with_a_turn_after_an_answer() -> None:
    context = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    items = pl.DataFrame(
        {
            "item": ["with", "without", "blank"],
            "reference_context": [context, None, context],
            "reference_user_turn": ["why?", None, "  "],
        }
    )
    (found,) = human_exchanges(items)
    assert (found.item, found.answer, found.turn) == ("with", ShownAnswer("a"), "why?")
    assert found.prompt == (context[0],)


def test_distractors_are_drawn_among_the_four_nearest_in_length() -> None:
    lengths = {"a": 100, "b": 101, "c": 102, "d": 104, "e": 97, "far": 300, "farther": 5}
    exchanges = [exchange(item, length) for item, length in lengths.items()]
    seen = {draw_distractors(exchanges, 1, seed)["a"][0].item for seed in range(60)}
    assert seen == {"b", "c", "d", "e"}


def test_a_turn_is_never_told_from_its_own_conversation_nor_from_an_equal_answer() -> None:
    own = exchange("own", 50)
    sibling = exchange("sibling", 50, conversation="question own")
    twin = Exchange("twin", exchange("twin", 9).prompt, own.answer, "turn")
    drawn = draw_distractors([own, sibling, twin, exchange("other", 50)], 3, 0)
    assert [distractor.item for distractor in drawn["own"]] == ["other"]


def test_conversations_that_share_their_system_prompt_are_told_apart() -> None:
    system = {"role": "system", "content": "Be brief."}
    own, other = (
        Exchange(e.item, (system, *e.prompt), e.answer, e.turn)
        for e in (exchange("own", 50), exchange("other", 50))
    )
    assert own.conversation == exchange("own", 50).conversation
    (distractor,) = draw_distractors([own, other], 1, 0)["own"]
    assert distractor.item == "other"


def test_equal_answers_of_others_count_once() -> None:
    first, second = (
        Exchange(i, exchange(i, 9).prompt, ShownAnswer("Yes."), "turn") for i in ("x", "y")
    )
    drawn = draw_distractors([exchange("own", 50), first, second], 2, 0)
    assert [distractor.item for distractor in drawn["own"]] == ["x"]


def test_the_draw_is_the_same_whatever_the_order_of_items() -> None:
    exchanges = [exchange(f"i{n}", 40 + n) for n in range(12)]
    forwards, backwards = (draw_distractors(e, 3, 7) for e in (exchanges, exchanges[::-1]))
    assert forwards == {item: backwards[item] for item in forwards}


def test_a_human_turn_has_two_contexts_of_its_own_and_two_of_each_distractor() -> None:
    own, other = exchange("own", 30), exchange("other", 31)
    contexts = human_contexts(own, [other])
    assert own_contexts(own, [other]) == [contexts[0], contexts[2]]  # of a model's turn
    assert [(c.kind, c.distractor, c.prompt, c.answer) for c in contexts] == [
        (OWN, None, own.prompt, own.answer),
        (ASSISTANT_HEADER, None, own.prompt, own.answer),
        (OTHER_ANSWER, "other", own.prompt, other.answer),
        (OTHER_CONVERSATION, "other", other.prompt, other.answer),
    ]
