"""Benchmarks that need nothing from elsewhere run, and find what they are there to find."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmarks import __main__ as limits
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
    edits.write(edits.table_of(outcomes), page, "0123abcd")
    rows = ["| nothing | 0 | 0 | no | 3 | 0 |", "| seed changed | 2 | 2 | yes |  |  |"]
    assert page.read_text().splitlines()[4:6] == rows
    assert "old" not in page.read_text() and "at 0123abcd." in page.read_text()


TREES = str(SHARED / "oasst_en100" / "en_100_tree.jsonl")
FEW, RESULTS, MODEL = "FEW", "RESULTS", "MODEL"  # conversations, a finished study, the demo's model
SMALLEST = {  # what each program is given, and what it prints
    "analysing": (["1", "--items", "5"], "| analyse | 75 | 375 |"),
    "architectures": (["qwen 3"], "| right |"),
    "auditing": ([RESULTS], "|"),
    "batching": (["--requests", "8"], "ratio"),
    "heuristic": ([FEW], "replaced"),
    "interruption": (["--items", "20", "--at", "0.5", "--temperatures", "0"], "userturn | 0 | 50%"),
    "judging": (["10"], "10 verdicts"),
    "known_studies": (["1"], "claim"),
    "labellings": ([], "kappa"),
    "mutations": ([RESULTS, "1", "bytes"], "bytes"),
    "planning": (["--jobs", "254", "--cells", "75"], "grown by a model | "),
    "rated_answers": ([FEW], "gain, best less others"),
    "real_turns": ([TREES], "smollm2-transcript"),
    "repeated_trainings": (["2"], "|"),
    "report": (["2"], "search of all"),
    "scoring": (["--items", "5"], "gathering: a request"),
    "serving": ([MODEL, "20", "4"], "userturn"),
    "sweeping": (["--items", "5"], "gathering: a request"),
    "verifier_pairs": ([], "numeric"),
}
ELSEWHERE = {  # why a program is not run here, mostly since other tests run its parts
    "__main__": "it runs the others; its table is tested below",
    "coverage": "tests/test_coverage.py",
    "edits": "tests/workflow/test_edits.py has its probes",
    "learned_judge": "tests/test_learned_judge.py; it needs an encoder of PyPI",
    "likelihood_judge": "tests/test_likelihood_judge.py; it needs a table of likelihood_turns.py",
    "likelihood_turns": "a quarter of an hour",
    "loopback": "a server, which the others start",
    "self_play_ahead": "it needs a study with self-play",
    "trainings": "tests/training/test_train.py",
    "transformers_on_gpu": "tests/test_transformers_on_gpu.py",
    "vllm_on_gpu": "tests/test_vllm_on_gpu.py",
    "wordings": "it needs a server of vLLM",
}
LONG = (
    "architectures",
    "known_studies",
    "mutations",
    "planning",
    "report",
    "scoring",
    "serving",
    "sweeping",
)
OF_PEOPLE = ("batching", "heuristic", "rated_answers", "real_turns")  # need the shared data


def test_every_program_is_run_at_its_smallest_size_or_says_why_not() -> None:
    programs = {
        path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text()
    }
    assert programs == {*SMALLEST, *ELSEWHERE}
    page = (ROOT / "benchmarks/README.md").read_text()
    assert [name for name in SMALLEST if f"`{name}.py" not in page] == []


def marked(name: str) -> Any:
    marks = [pytest.mark.long] if name in (*LONG, *OF_PEOPLE) else []
    return pytest.param(name, marks=[*marks, *([needs_shared_data] if name in OF_PEOPLE else [])])


@pytest.mark.parametrize("name", [*map(marked, SMALLEST)])
def test_a_benchmark_runs_at_its_smallest_size(
    name: str, tmp_path: Path, finished_study: Path
) -> None:
    given, said = SMALLEST[name]
    few = tmp_path / "trees.jsonl"
    if FEW in given:
        lines = Path(TREES).read_text(encoding="utf-8").splitlines(keepends=True)
        few.write_text("".join(lines[:3]), encoding="utf-8")
    places = {FEW: few, RESULTS: finished_study / "results", MODEL: finished_study / "models/tiny"}
    command = [sys.executable, "-m", f"benchmarks.{name}", *(str(places.get(p, p)) for p in given)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


SOME = limits.Limit("two", [(10, "CPU s"), (250, "MB")], ["x.py"], r"^userturn \| (\d+) \| (\d+)$")


def test_a_limit_is_held_against_the_largest_numbers_and_what_passes_it_is_bold() -> None:
    numbers = limits.measured(SOME, "bare | 99 | 999\nuserturn | 7 | 260\nuserturn | 9 | 240\n")
    assert numbers == (9, 260)
    said = "| two | 10 CPU s, 250 MB | 9 CPU s, **260 MB** | 0123abcd | `x.py` |"
    assert limits.row(SOME, numbers, "0123abcd") == said


def test_a_program_that_does_not_print_its_number_is_no_measurement() -> None:
    with pytest.raises(SystemExit, match="did not print 'two'"):
        limits.measured(SOME, "nothing")


def test_every_row_of_the_page_has_the_limit_and_a_commit() -> None:
    page = (ROOT / "benchmarks/README.md").read_text()
    for one in limits.LIMITS:
        most = ", ".join(f"{value:g} {unit}" for value, unit in one.limits)
        begins, ends = f"| {one.what} | {most} | ", f" | `{one.command[0]}` |"
        (row,) = (line for line in page.splitlines() if line.startswith(begins))
        assert re.search(r" \| [0-9a-f]{8}$", row.removesuffix(ends)), row
