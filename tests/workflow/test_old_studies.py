"""A study that an earlier commit finished is finished: nothing is asked again or accused."""

import json
import os
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest
from filelock import FileLock

from tests.support.old_studies import OLD_STUDIES, unpack
from tests.support.slow import starting
from tests.support.snakemake_runs import SNAKEMAKE, output_of
from userturn.export.remake import REMADE
from userturn.workflow.registry import FIGURE_RULES, TABLE_RULES

# Requests that their sweeps said they asked: generations and scores.
N_ASKED = {"demo": 490 + 124, "wider": 3810, "made_up": 669 + 671}


# What people label by; both name the labels as people do since they were drawn.
PAGES = ("results/humans/first/label_studio/config.xml", "results/humans/first/task.html")


@pytest.fixture(scope="session", params=OLD_STUDIES)
def old_study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An old study as a user has it who has updated; unpacked once, and changed by no test."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "old_studies" / request.param
    with FileLock(shared / f"{request.param}.lock"):
        return folder if folder.exists() else unpack(request.param, folder)


@pytest.mark.slow
def test_of_an_old_study_only_tables_and_what_shows_them_are_made_again(old_study: Path) -> None:
    plan = output_of(old_study, "snakemake", *OLD_STUDIES[old_study.name], "-n")
    jobs = set(re.findall(r"^(\w+) +\d+$", plan, re.MULTILINE)) - {"all", "total"}
    # Thresholds of the configuration are others now, which the study's record says.
    assert jobs <= {*TABLE_RULES, *FIGURE_RULES, "build_report", "record_study"}


@pytest.mark.slow
def test_the_next_run_makes_them_without_a_request_and_then_nothing_is_to_be_done(
    tmp_path: Path,
) -> None:
    demo, options = unpack("demo", tmp_path / "demo"), OLD_STUDIES["demo"]
    # Tables are those of this version; everything that they are made of stays as it was.
    kept = ["journal/**/*.jsonl", "cells/**/*.parquet", "grades/**/*.parquet"]
    before = {path: path.read_bytes() for glob in kept for path in (demo / "results").glob(glob)}
    output_of(demo, "snakemake", *options)
    assert len(before) > 40
    assert {path for path in before if path.read_bytes() != before[path]} == set()
    assert "Nothing to be done" in output_of(demo, "snakemake", *options, "-n")
    assert (demo / "results/tables/temperature_response.parquet").is_file()  # of the old version
    # The pages of a round that was drawn before are of that version, and are not drawn again.
    audited = output_of(demo, "userturn", "audit", "results", ends=3)
    assert "no finding" in audited and f"2 artifacts ({', '.join(PAGES)})" in audited


@pytest.mark.slow
def test_no_request_of_an_old_study_is_pending(old_study: Path) -> None:
    status = output_of(old_study, "userturn", "status")
    # Of each model and stage how many are done, pending and failed, then what is said of the time.
    stages = re.findall(r"(answers|turns|scores) +[\d,]+ +([\d,]+) +[\d,]+  (.*)", status)
    assert {stage for stage, *_ in stages} == {"answers", "turns", "scores"}
    assert {(pending, said) for _, pending, said in stages} == {("0", "done")}


@pytest.mark.slow
def test_the_audit_of_an_old_study_has_no_finding_and_only_tables_and_pages_are_made_otherwise_now(
    old_study: Path,
) -> None:
    starting("userturn")
    audit = [SNAKEMAKE.with_name("userturn"), "audit", "results", "--to", "audit"]
    subprocess.run(audit, cwd=old_study, capture_output=True)
    found = json.loads((old_study / "audit" / "audit.json").read_text(encoding="utf-8"))
    assert found["findings"] == []
    others = {of["artifact"] for of in found["statuses"] if "another version" in of["why"]}
    pages = {path for path in others if path.endswith(("/task.html", "/config.xml"))}
    assert others - pages == {path for path in others if path.startswith(REMADE)}


def test_every_row_of_an_old_study_that_names_a_request_has_its_line_in_a_journal(
    old_study: Path,
) -> None:
    results = old_study / "results"
    journals = (results / "journal").rglob("*.jsonl")
    answered = {json.loads(line)["key"] for path in journals for line in path.open()}
    tables = [p for p in results.rglob("*.parquet") if "key" in pl.read_parquet_schema(p)]
    named = {key for path in tables for key in pl.read_parquet(path)["key"].drop_nulls()}
    assert len(named) == N_ASKED[old_study.name]
    assert named <= answered
