"""Crossed answers: what is asked after whose answers, and what a configuration may name."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.config.families import baselines
from userturn.config.load import load_study
from userturn.errors import ConfigError
from userturn.sources.crossed_answers import crossing_identity, crossings
from userturn.sources.registry import asked, check_study, follows_others
from userturn.study.grid import Grid


def crossed(*names: str, **run: Any) -> dict[str, Any]:
    """Return the demo's study of three models, probed after the answers of some."""
    config = copy.deepcopy(load_study(["profiles/demo/study.yaml"]))
    model = config["models"]["smollm2-135m"]
    config["models"] |= {"other": model, "third": {**model, "answer": {"max_tokens": 8}}}
    config["run"] |= {"models": ["smollm2-135m", "other", "third"], "temperatures": [0], **run}
    return config | {"answers_from": list(names)}


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_a_name_that_is_no_model_of_the_run_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as refused:
        check_study(crossed("othr"))
    assert str(refused.value) == (
        "answers_from: 'othr' is not a model of the run; correct the name, or add it to "
        "run.models, did you mean 'other'?"
    )


def test_a_model_that_is_defined_and_not_selected_is_refused() -> None:
    with pytest.raises(ConfigError, match="answers_from: 'third' is not a model of the run"):
        check_study(crossed("third", models=["smollm2-135m", "other"]))


def test_turns_after_a_models_own_answers_must_be_there() -> None:
    with pytest.raises(ConfigError, match="the run has no perturbation 'none'"):
        check_study(crossed("other", perturbations=["truncate"]))


def test_every_model_is_probed_after_every_other_one_and_never_after_itself(tmp_path: Path) -> None:
    grid = Grid(crossed("other", "reference", datasets=["everyday"]), tmp_path)
    pairs = {(at.model, at.answerer) for at in crossings(grid)}
    others = {("smollm2-135m", "other"), ("third", "other")}
    assert pairs == others | {(model, "reference") for model in grid.models}
    later = {of.model for of in asked(grid).values() if follows_others(grid, of)}
    assert later == {"smollm2-135m", "third"}  # the dataset's answers wait for no model


def test_turns_are_asked_again_where_the_answers_change_and_not_where_the_own_ones_do(
    tmp_path: Path,
) -> None:
    config = crossed("other", datasets=["everyday"])
    changed = copy.deepcopy(config)
    changed["models"]["third"]["answer"]["max_tokens"] = 9
    grid, after = Grid(config, tmp_path), Grid(changed, tmp_path)
    (of_third,) = (at for at in crossings(grid) if at.model == "third")
    assert crossing_identity(grid, of_third) == crossing_identity(after, of_third)
    changed["models"]["other"] = {**changed["models"]["other"], "answer": {"max_tokens": 9}}
    assert crossing_identity(grid, of_third) != crossing_identity(Grid(changed, tmp_path), of_third)


def test_the_base_model_of_the_docs_is_beside_its_chat_model_in_both_formats() -> None:
    """Contrasts have the base's pairs, and crossed answers each after the other's."""
    section = Path("docs/models.md").read_text().partition("## Base models")[2]
    example = yaml.safe_load(section.partition("```yaml\n")[2].partition("```")[0])
    config = load_study(["profiles/demo/study.yaml"])
    config["run"] |= example.pop("run")
    config["models"] |= example.pop("models")
    check_study(config | example)
    grid = Grid(config | example)
    assert baselines(grid.models, grid.entries) == [("chat", "base"), ("chat-transcript", "base")]
    assert {(at.model, at.answerer) for at in crossings(grid)} == {
        ("base", "chat-transcript"),
        ("chat-transcript", "base"),
        ("chat", "base"),
        ("chat", "chat-transcript"),
    }
