"""Benchmarks that need nothing from elsewhere run, and find what they are there to find."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from benchmarks import auditing, edits, interruption, planning
from benchmarks.clients import CLIENTS, questions
from benchmarks.measuring import cost_of
from tests.support.published_data import SHARED, needs_shared_data
from tests.support.snakemake_runs import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}")


def test_every_benchmark_names_what_the_library_still_has() -> None:
    names = [path.stem for path in sorted((ROOT / "benchmarks").glob("*.py"))]
    code = (
        f"from importlib import import_module\nfor n in {names}: import_module('benchmarks.' + n)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory_of_a_command_is_not_that_of_the_process_that_measures_it(tmp_path: Path) -> None:
    ballast = b"x" * 300 * 2**20
    assert cost_of([sys.executable, "-c", "pass"], tmp_path).megabytes < len(ballast) / 2**20


def test_kill_repeats_no_more_than_was_in_flight(tmp_path: Path) -> None:
    job = interruption.Job(tmp_path / "userturn", "", questions(40))
    again, third = interruption.repeated("userturn", job, CLIENTS, 0.5)
    assert again <= interruption.CONCURRENCY
    assert third == 0


def test_bare_snakefile_has_as_many_jobs_as_it_is_asked_for(tmp_path: Path) -> None:
    folder = planning.floor(tmp_path / "bare", 6, planning.PLAIN_RULE)
    _, output = planning.snakemake(folder, *planning.DRY_RUN)
    assert planning.n_jobs(output) == 6


def test_audit_of_a_study_is_beside_the_number_of_its_user_turns(study: Path) -> None:
    made = pl.scan_parquet(study / "results/cells/**/user_turns.parquet")
    n_turns = made.select(pl.len()).collect().item()
    cells = auditing.line(study / "results").split("|")
    assert int(cells[3]) == n_turns
    assert float(cells[5]) > 0


def test_outcomes_of_edits_stand_in_the_page_in_the_order_of_the_edits(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- edits -->\nold\n<!-- end of edits -->\nafter\n")
    asked = {"needed": 2, "asked": 2, "sweeps": 1, "judged": None, "judged_again": 0}
    nothing = {"needed": 0, "asked": 0, "sweeps": 0, "judged": 3, "judged_again": 0}
    outcomes = [{"edit": "seed changed", **asked}, {"edit": "nothing", **nothing}]
    edits.write(outcomes, page, "0123abcd")
    rows = ["| nothing | 0 | 0 | no | 3 | 0 |", "| seed changed | 2 | 2 | yes |  |  |"]
    assert page.read_text().splitlines()[4:6] == rows
    assert "old" not in page.read_text() and "at 0123abcd." in page.read_text()


@pytest.mark.long
@pytest.mark.parametrize("name", ["sweeping", "scoring"])
def test_a_benchmark_of_sweeps_runs_at_its_smallest_size(name: str) -> None:
    command = [sys.executable, f"benchmarks/{name}.py", "--items", "5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "gathering: a request" in done.stdout


TREES = SHARED / "oasst_en100" / "en_100_tree.jsonl"


@pytest.mark.long
@needs_shared_data
@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["heuristic.py", "TREES"], "replaced"),
        (["real_turns.py", "TREES"], "smollm2-transcript"),
        (["rated_answers.py", "TREES"], "gain, best less others"),
        (["batching.py", "--requests", "8"], "ratio"),
    ],
)
def test_a_benchmark_runs_on_a_few_conversations(
    command: list[str], said: str, tmp_path: Path
) -> None:
    few = tmp_path / "trees.jsonl"
    lines = TREES.read_text(encoding="utf-8").splitlines(keepends=True)
    few.write_text("".join(lines if "real_turns.py" in command else lines[:3]), encoding="utf-8")
    name, *given = [str(few) if part == "TREES" else part for part in command]
    done = subprocess.run(
        [sys.executable, f"benchmarks/{name}", *given], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
