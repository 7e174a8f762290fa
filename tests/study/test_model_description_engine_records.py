"""A study whose texts come from two of vLLM's model runners says so, in sweep and report."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from userturn.generation import load_model
from userturn.models import engine_account
from userturn.report.build import origins
from userturn.study.grid import Grid
from userturn.study.model_description import recorded_runners, runners_in_words


def grid(results: Path) -> Grid:
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["models"] = {name: {"source": "org/mine"} for name in ("first", "second")}
    return Grid(config | {"run": {"models": ["first", "second"]}}, results)


def record(results: Path, model: str, *engines: object) -> None:
    path = results / "provenance" / "sweep" / model / "1of1.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"made": {"engines": engines}}))


def by(runner: str) -> dict[str, str]:
    return {"name": "vllm", "runner": runner}


def test_models_are_named_by_the_runner_that_wrote_their_texts(tmp_path: Path) -> None:
    record(tmp_path, "first", by("V1"), by("V2"))
    record(tmp_path, "second", by("V2"), {"name": "transformers"}, "damaged")
    record(tmp_path, "third", {"name": "transformers"})
    assert recorded_runners(tmp_path) == {"V1": ["first"], "V2": ["first", "second"]}
    assert runners_in_words(recorded_runners(tmp_path)) == "V1: first; V2: first, second"


def test_record_of_an_earlier_version_or_a_damaged_one_says_nothing(tmp_path: Path) -> None:
    record(tmp_path, "first")
    (tmp_path / "provenance" / "sweep" / "first" / "1of2.json").write_text('{"made": {}}')
    (tmp_path / "provenance" / "sweep" / "first" / "2of2.json").write_text("[")
    assert recorded_runners(tmp_path) == {}


@pytest.mark.parametrize(("now", "is_said"), [("V1", False), ("V2", True)])
def test_sweep_warns_if_other_texts_are_of_another_runner(
    now: str,
    is_said: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record(tmp_path, "first", by("V1"))
    monkeypatch.setattr(engine_account, "_noted", [by(now)])
    load_model._warn_of_runners(grid(tmp_path), "second")
    said = capsys.readouterr().out
    assert ("WARNING: vLLM's model runner V2 writes the texts of 'second'" in said) == is_said
    assert ("(V1: first)" in said) == is_said


@pytest.mark.parametrize(("other", "n_rows"), [("V1", 0), ("V2", 1)])
def test_report_says_which_texts_are_of_which_runner_if_there_are_two(
    other: str, n_rows: int, tmp_path: Path
) -> None:
    record(tmp_path, "first", by("V1"))
    record(tmp_path, "second", by(other))
    rows = origins(grid(tmp_path), {name: {"source": "org/mine"} for name in ("first", "second")})
    found = [text for _, _, text in rows if "TWO model runners" in text]
    assert len(found) == n_rows
    assert all(text.endswith("V1: first; V2: second") for text in found)
