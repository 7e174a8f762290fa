"""Judges that cannot be asked for what is wanted of them are refused in one sentence."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.errors import ConfigError
from userturn.judges.check_entries import check_judges

ENDPOINT = {"kind": "endpoint", "base_url": "http://127.0.0.1:1/v1", "model": "m"}
LIMITED = {"settings": {"max_tokens": 9}, "price": {"input": 1, "output": 1}}


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(ROOT)
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    return loaded


def message(config: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as error:
        check_judges(config)
    return str(error.value)


def test_shipped_judges_can_be_asked(config: dict[str, Any]) -> None:
    check_judges(config)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key_variable": "sk-abc123"}, "judges.j.key_variable: expected the NAME"),
        ({"serve": True}, "judges.j: expected either `base_url` or `serve: true`"),
        ({"serve": True, "batch": True, "base_url": ...}, "judges.j: a judge that is served here"),
        ({"base_url": "http://me:pw@host/v1"}, "judges.j.base_url: contains a user name"),
        ({"base_url": "https://h/v1?api-version=1"}, "judges.j.base_url: contains a query"),
        ({"settings": {}}, "judges.j.settings: max_cost needs a limit"),
        (
            {"settings": {"max_tokens": -5}},
            "judges.j.settings.max_tokens: found -5, expected a whole",
        ),
        ({"settings": {"max_tokens": "9"}}, "judges.j.settings.max_tokens: found '9', expected"),
        ({"settings": {"max_tokens": 9, "n": 4}}, "judges.j.settings: `n` cannot be set"),
        (
            {"settings": {"max_tokens": 9, "stream": True}},
            "judges.j.settings: `stream` cannot be set",
        ),
        ({"settings": {"max_tokens": 9, "model": "x"}}, "judges.j.settings: `model` cannot be set"),
        (
            {"settings": {"max_tokens": 9, "messages": []}},
            "judges.j.settings: `messages` cannot be set",
        ),
        ({"rubric": "data/nowhere.yaml"}, "judges.j: the file 'data/nowhere.yaml' does not exist"),
    ],
)
def test_endpoint_that_cannot_be_asked_is_refused(
    config: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    config["judges"]["j"] = ENDPOINT | LIMITED
    check_judges(config)
    changed = config["judges"]["j"] | changes
    config["judges"]["j"] = {key: value for key, value in changed.items() if value is not ...}
    assert message(config).startswith(said)


PROMPT = (ROOT / "data/judge_prompt.txt").read_text(encoding="utf-8")
LABEL = "\n  {}: {{criterion: x, example: y}}"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"prompt": PROMPT.replace("$turn", "")}, "below its line ----- it lacks $turn; expected"),
        ({"prompt": PROMPT.replace("$conversation", "")}, "it lacks $conversation"),
        ({"prompt": PROMPT.replace("$rubric", "")}, "above its line ----- it lacks $rubric"),
        ({"prompt": PROMPT + "$answer"}, "below its line ----- it has $answer; expected there"),
        ({"prompt": PROMPT + "$5"}, "below its line ----- it has a $ without a name"),
        ({"prompt": PROMPT.replace("-----", "")}, "found no line -----"),
        (
            {"rubric": "labels:" + LABEL.format("good") + LABEL.format("bad")},
            "the labels good, bad",
        ),
        ({"rubric": "labels: {}"}, "the labels (none); expected genuine_followup"),
        ({"rubric": "labels:" + LABEL.format("genuine_followup")}, "and at least one other"),
    ],
)
def test_texts_that_give_a_judge_nothing_to_decide_are_refused(
    config: dict[str, Any], texts: dict[str, str], said: str, tmp_path: Path
) -> None:
    for key, text in texts.items():
        (tmp_path / key).write_text(text, encoding="utf-8")
    config["judges"]["j"] = ENDPOINT | LIMITED | {key: str(tmp_path / key) for key in texts}
    assert said in message(config)


def test_primary_judge_is_one_of_the_run(config: dict[str, Any]) -> None:
    config["primary_judge"] = "nobody"
    assert message(config).startswith("primary_judge: 'nobody' is not among run.judges")


def test_judge_without_an_endpoint_grades_no_rubric(config: dict[str, Any]) -> None:
    name = next(iter(config["datasets"]))
    config["datasets"][name] |= {"verifier": "rubric", "judge": "heuristic"}
    assert message(config).startswith(f"datasets.{name}: the verifier 'rubric' asks a judge")


def test_judge_without_an_endpoint_plays_no_user(config: dict[str, Any]) -> None:
    config["models"]["trained"] = {"base": "x", "recipe": "rl-collab"}
    config["judges"]["simulator"] = {**config["judges"]["heuristic"]}
    assert "rl-collab.yaml: simulator: the judge 'simulator' is not an endpoint" in message(config)
