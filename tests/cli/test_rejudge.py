"""What `userturn rejudge` finds open: turns of each kind, and grades by rubrics."""

import re
from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.cli.rejudge import incomplete, incomplete_grades
from userturn.config.load import load_config
from userturn.sources.registry import artifacts, judge_rules
from userturn.storage.files import write_text
from userturn.study.grid import Grid

MODEL = "smollm2-135m"


def table(results: Path, path: str, **columns: list[str | None]) -> None:
    (results / path).parent.mkdir(parents=True, exist_ok=True)
    schema = dict.fromkeys(columns, pl.String)
    pl.DataFrame(columns, schema=schema).write_parquet(results / path)


def test_unscored_turns_of_every_source_are_found(tmp_path: Path) -> None:
    folders = [re.sub(r"{\w+}", "0", rule.folder) for rule in judge_rules()]
    assert len(folders) > 5
    for folder in folders:
        table(tmp_path, f"{folder}/verdicts/j.parquet", unscored_reason=["the judge refused", None])
        table(tmp_path, f"{folder}/verdicts/other.parquet", unscored_reason=["no object"])
    table(tmp_path, "cells/m/e/t0/none/verdicts/j.parquet", unscored_reason=[None])
    table(tmp_path, "cells/m/f/t0/none/verdicts/j.parquet", unscored_reason=["no user turn: x"])
    assert incomplete(tmp_path, "j") == sorted(folders)


def test_grades_with_an_open_criterion_are_made_again_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    config = load_config(["config.yaml", "profiles/demo/study.yaml"])
    config["datasets"]["everyday"] |= {"verifier": "rubric", "judge": "gpt-5.4-mini"}
    reasons = ["2 of 3 criteria stayed open", "no answer: error", "scored, neither right nor wrong"]
    table(tmp_path, f"grades/{MODEL}/everyday.parquet", reason=reasons)
    table(tmp_path, f"grades/{MODEL}/word-problems.parquet", reason=reasons[:1])
    table(tmp_path, "grades/another/everyday.parquet", reason=reasons[1:])
    grid = Grid(config, str(tmp_path))
    assert incomplete_grades(grid, "gpt-5.4-mini") == [f"grades/{MODEL}/everyday"]
    assert incomplete_grades(grid, "heuristic") == []
    before = artifacts(grid)
    write_text(f'{{"grades/{MODEL}/everyday": 1}}', grid.rounds_path("gpt-5.4-mini"))
    again = Grid(config, str(tmp_path))
    changed = artifacts(again).items() - before.items()
    assert [path for path, _ in changed] == [f"results/grades/{MODEL}/everyday.parquet"]
