"""Rewards of drawn turns, by hand; an unavailable reward is None and never 0."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.judge_server import completion, http, judge_server
from userturn.errors import UserError
from userturn.judges.judge import Judge
from userturn.judges.parse_reply import Reply
from userturn.study.grid import Places
from userturn.study.judge import judge_of
from userturn.training.reward_endpoints import KeptReplies, training_endpoints
from userturn.training.rewards import (
    SampledTurn,
    accuracy,
    complete,
    final_answer,
    followup,
    interactivity,
    length,
)
from userturn.training.simulated_user import Rollout, continued

QUESTION = {"role": "user", "content": "How do I keep rice from sticking?"}
ANSWER = {"role": "assistant", "content": "Rinse the starch off and let the pot rest off the heat."}
HEURISTIC = {"kind": "heuristic", "restated": 0.8, "grounded": 0.1, "repeated": 0.5}


def says(*texts: str) -> Any:
    """An endpoint that gives these replies, whatever it is asked; counts the questions."""
    asked: list[Any] = []

    def ask(what: str, conversations: Sequence[Any]) -> list[Reply]:
        asked.extend(conversations)
        return [Reply(text, None, "stop") for text in texts[: len(conversations)]]

    ask.asked = asked  # type: ignore[attr-defined]
    return ask


def rollout(said: str) -> Rollout:
    return Rollout((QUESTION, {"role": "assistant", "content": said}), 1, "rice that is loose")


def test_followup_rewards_what_the_judge_calls_genuine(tmp_path: Path) -> None:
    turns = ["How long should the pot rest off the heat?", QUESTION["content"], ""]
    drawn = [SampledTurn((QUESTION, ANSWER), said) for said in turns]
    # It takes up pot, rest and heat; it repeats the prompt; it says nothing.
    judge = Judge("h", HEURISTIC, tmp_path, tmp_path, {}, None, 0.1)
    kept = KeptReplies(tmp_path / "replies")
    assert followup(drawn, judge, "training/tiny", kept) == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        (["The answer is 42.", "There are 7 groups of 6."], "The answer is 42."),
        ([r"\boxed{1}", r"No, \boxed{2}", "You are welcome."], r"No, \boxed{2}"),
        (["It is 12.", "So it is 13."], "So it is 13."),
    ],
)
def test_answer_of_a_conversation_is_the_last_that_says_so_else_the_last(
    answers: list[str], found: str
) -> None:
    assert final_answer(answers) == found


def test_draw_counts_with_all_weighted_rewards_or_with_none() -> None:
    scores: Any = {"a": [1.0, None, 0.0, 1.0], "b": [0.1, 0.2, None, 0.4], "c": [None] * 4}
    assert complete(scores, {"a": 1, "b": -1, "c": 0}) == {
        "a": [1.0, None, None, 1.0],
        "b": [0.1, None, None, 0.4],
        "c": [None] * 4,
    }


def test_accuracy_rewards_the_last_answer_and_leaves_open_what_has_no_reference() -> None:
    talks = [rollout("It is 12."), rollout("It is 13."), rollout("It is 12.")]
    assert accuracy("numeric", talks, ["12", "12", None]) == [1.0, 0.0, None]


def test_length_is_in_thousands_of_the_assistants_tokens_from_the_drawn_turn_on() -> None:
    talk = Rollout((QUESTION, ANSWER, QUESTION, {"role": "assistant", "content": "a b"}), 3)
    assert length([talk], lambda text: len(text.split())) == [0.002]


def test_interactivity_is_read_strictly() -> None:
    replies = ['{"thought": "t", "interactivity": 0.5}', '{"interactivity": 7}', "good", "{}"]
    talks = [rollout(str(i)) for i in range(4)]
    assert interactivity(talks, says(*replies), "Judge:\n") == [0.5, None, None, None]


def test_conversation_goes_on_until_the_simulated_user_ends_it() -> None:
    ask = says("What about the pot?", "[END]")
    found = continued(
        [rollout("one"), rollout("two")], 3, "$goal|$conversation", ask, lambda c: ["A"]
    )
    assert [m["content"] for m in found[0].messages[2:4]] == ["What about the pot?", "A"]
    assert len(found[1].messages) == 2
    assert ask.asked[0][0]["content"].startswith("rice that is loose|[user]\nHow do I")


def bare_grid(folder: Path) -> Any:
    """A study without anything but defaults of judges."""
    defaults = {"timeout": 9, "concurrency": 4, "reply": "text", "settings": {}}
    config = {"judge_defaults": defaults, "judges": {}, "max_cost": None, "max_error_share": 0.1}
    grid = SimpleNamespace(
        config=config, all_judges={}, models={}, places=Places(), prepared_datasets={}
    )
    grid.results = grid.accounts_folder = folder
    return grid


def endpoint_judge(grid: Any, url: str, **entry: Any) -> Any:
    grid.all_judges["e"] = {
        **grid.config["judge_defaults"],
        "kind": "endpoint",
        "base_url": url,
        "model": "m",
        "attempts": 1,
        **entry,
    }
    return judge_of(grid, "e")


@pytest.mark.slow
def test_endpoint_that_refuses_ends_the_training_in_a_sentence(tmp_path: Any) -> None:
    grid, kept = bare_grid(tmp_path), KeptReplies(tmp_path / "replies")
    with judge_server(lambda _: http(400, b"no such model")) as server:
        judge = endpoint_judge(grid, server.url)
        ask = training_endpoints({"e": judge}, {"interactivity": "e"}, "tiny", kept)
        with pytest.raises(UserError, match="endpoint 'e', asked for interactivity, gave no reply"):
            ask("interactivity", [[{"role": "user", "content": "x"}]])
    with judge_server(lambda asked: completion(asked.body["messages"][0]["content"])) as server:
        judge = endpoint_judge(grid, server.url)
        ask = training_endpoints({"e": judge}, {"simulator": "e"}, "tiny", kept)
        replies = ask("simulator", [[{"role": "user", "content": str(i)}] for i in range(9)])
        assert [reply.content for reply in replies] == list("012345678")
        assert "response_format" not in server.asked[0].body


REFUSAL = b'{"error": {"code": "content_filter", "message": "flagged"}}'


@pytest.mark.slow
def test_what_an_endpoint_refuses_is_missing_and_is_not_asked_again(tmp_path: Any) -> None:
    def answer(asked: Any) -> bytes:
        said = asked.body["messages"][0]["content"]
        return http(400, REFUSAL) if said == "3" else completion(said)

    questions = [[{"role": "user", "content": str(i)}] for i in range(9)]
    expected = [None if i == 3 else str(i) for i in range(9)]
    with judge_server(answer) as server:
        judge = endpoint_judge(bare_grid(tmp_path), server.url)
        for n_asked in (9, 9):
            kept = KeptReplies(tmp_path / "replies")
            ask = training_endpoints({"e": judge}, {"simulator": "e"}, "tiny", kept)
            assert [reply.content for reply in ask("simulator", questions)] == expected
            assert len(server.asked) == n_asked


def test_cap_ends_the_training_in_a_sentence(tmp_path: Any) -> None:
    prices = {"price": {"input": 1, "output": 1}, "settings": {"max_tokens": 9}}
    judge = endpoint_judge(bare_grid(tmp_path), "http://127.0.0.1:1/v1", **prices)
    judge = replace(judge, cap=1e-9, prices={"e": prices["price"]})
    kept = KeptReplies(tmp_path / "replies")
    ask = training_endpoints({"e": judge}, {"simulator": "e"}, "tiny", kept)
    with pytest.raises(UserError, match="stopped before max_cost 1e-09 could be exceeded"):
        ask("simulator", [[{"role": "user", "content": "x"}]])
