"""A turn that is asked about several times has the verdict of most draws."""

from pathlib import Path

import pytest

from tests.support.judge_server import Asked, judge_server, says
from tests.support.judged_cell import cell, judge, settings, verdicts_of
from userturn.judges.endpoint import identity, price
from userturn.judges.verdict import ERROR, GENUINE, Verdict, together


def by_order(asked: Asked) -> bytes:
    """Answer `generic` where the rubric's first label stands first, and else `unrelated`."""
    system = asked.body["messages"][0]["content"]
    is_forward = system.index(f"- {GENUINE}:") < system.index("- degenerate:")
    return says("generic" if is_forward else "unrelated")


@pytest.mark.slow
def test_every_second_draw_has_the_labels_in_reverse_and_no_draw_is_asked_twice(
    tmp_path: Path,
) -> None:
    turns = cell(tmp_path, "Why?", "", "How hot?")
    with judge_server(by_order) as server:
        one = judge(tmp_path, server.url, draws=3)
        table = verdicts_of(one, turns)
        assert len(server.asked) == 9
        verdicts_of(one, turns)
        assert len(server.asked) == 9
    assert table["label"].to_list() == ["generic"] * 3
    assert table["rationale"].to_list() == ["2 of 3 draws: r"] * 3


@pytest.mark.slow
def test_a_judge_with_draws_asks_anew_and_says_of_how_many_draws_its_label_is(
    tmp_path: Path,
) -> None:
    turns = cell(tmp_path, "Why?")
    with judge_server() as server:
        before = verdicts_of(judge(tmp_path, server.url), turns)
        with_two = verdicts_of(judge(tmp_path, server.url, draws=2), turns)
    assert len(server.asked) == 3  # the identity of the second judge is another
    assert before["rationale"].to_list() == ["It takes up the oil."]
    assert with_two["rationale"].to_list() == ["2 of 2 draws: It takes up the oil."]


def test_as_many_draws_of_two_labels_give_the_first_and_an_error_is_asked_again() -> None:
    one, other = Verdict("generic", "a"), Verdict("unrelated", "b")
    refused, failed = Verdict(None, None, "refused"), Verdict(None, None, f"{ERROR}no reply")
    assert together([one]) is one
    assert together([other, one, one, other]).label == "unrelated"
    assert together([refused, one]) == Verdict("generic", "1 of 2 draws: a")
    assert together([refused, refused]) == refused
    assert together([one, failed, one]) == failed


def test_draws_are_in_the_identity_where_they_are_asked_for_and_cost_as_many_times() -> None:
    entry = settings("http://127.0.0.1:1", price={"input": 1, "output": 2})
    assert "draws" not in identity(entry)
    assert identity(entry | {"draws": 3})["draws"] == 3
    once, thrice = price(entry, 10, 500), price(entry | {"draws": 3}, 10, 500)
    assert once is not None and thrice is not None
    assert thrice == pytest.approx([3 * cost for cost in once])
