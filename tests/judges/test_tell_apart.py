"""A judge that tells turns apart: both orders, and a reply that names neither decides nothing."""

from pathlib import Path

import pytest

from tests.support.judge_server import Asked, completion, judge_server
from tests.support.judged_cell import judge
from userturn.judges.parse_reply import Reply, UnclearReplyError
from userturn.judges.tell_apart import Pair, choices, questions_about, read_choice

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
