"""The list of checks is that of the docs."""

import re
from pathlib import Path

import pytest

from tests.sources.test_registry import everything
from tests.support.snakemake_runs import ROOT
from userturn.audit.checks import CHECKS
from userturn.study.grid import Grid
from userturn.workflow.artifacts import asked_for
from userturn.workflow.study import Study


def test_docs_name_the_same_checks() -> None:
    text = (ROOT / "docs/audit.md").read_text("utf-8")
    (part,) = re.findall("## What each check finds(.*?)\n## ", text, re.DOTALL)
    named = [
        name for row in re.findall(r"^\| ([a-z, ]+) \|", part, re.M) for name in row.split(", ")
    ]
    assert sorted({*named} - {"check"}) == sorted(CHECKS)


def test_every_folder_that_a_check_looks_at_is_one_that_a_study_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    has = {path.split("/")[1] for path in asked_for(Study(Grid(everything(), tmp_path)))}
    begun = [re.match(r"\(?((?:\w+\|)*\w+)\)?/", check.files) for check in CHECKS.values()]
    named = {folder for found in begun if found for folder in found[1].split("|")}
    assert len(named) > 8
    assert named - has == {"requests", "revisions", "training"}  # beside the artifacts, or off here
