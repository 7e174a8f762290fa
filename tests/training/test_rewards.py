"""Rewards of drawn turns, by hand; an unavailable reward is None and never 0."""

from collections.abc import Sequence
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
from userturn.training.grpo import training_endpoints
from userturn.training.rewards import SampledTurn, accuracy, followup, interactivity, length
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
    assert followup(drawn, judge, "training/tiny") == [1.0, 0.0, 0.0]


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
    defaults = {"timeout": 9, "concurrency": 4, "reply": "text", "settings": {}}
    config = {"judge_defaults": defaults, "judges": {}, "max_cost": None, "max_error_share": 0.1}
    grid = SimpleNamespace(
        config=config, all_judges={}, models={}, places=Places(), prepared_datasets={}
    )
    grid.results = grid.accounts_folder = tmp_path
    with judge_server(lambda _: http(400, b"no such model")) as server:
        judge = endpoint_judge(grid, server.url)
        ask = training_endpoints({"e": judge}, {"interactivity": "e"}, "tiny")
        with pytest.raises(UserError, match="endpoint 'e', asked for interactivity, gave no reply"):
            ask("interactivity", [[{"role": "user", "content": "x"}]])
    with judge_server(lambda asked: completion(asked.body["messages"][0]["content"])) as server:
        judge = endpoint_judge(grid, server.url)
        ask = training_endpoints({"e": judge}, {"simulator": "e"}, "tiny")
        replies = ask("simulator", [[{"role": "user", "content": str(i)}] for i in range(9)])
        assert [reply.content for reply in replies] == list("012345678")
        assert "response_format" not in server.asked[0].body
