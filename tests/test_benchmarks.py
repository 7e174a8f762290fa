"""Benchmarks that need nothing from elsewhere run, and find what they are there to find."""

import sys
from pathlib import Path

import pytest

from benchmarks import growth, interruption, planning, replay, staleness
from benchmarks.clients import Client, ours, plain
from benchmarks.measuring import cost_of, exponent
from tests.support.snakemake_runs import ROOT

pytestmark = pytest.mark.slow

CLIENTS: dict[str, Client] = {"userturn": ours, "plain script": plain}


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}")


def test_memory_of_a_command_is_not_that_of_the_process_that_measures_it(tmp_path: Path) -> None:
    ballast = b"x" * 300 * 2**20
    assert cost_of([sys.executable, "-c", "pass"], tmp_path).megabytes < len(ballast) / 2**20


def test_exponent_is_the_power_that_a_cost_grows_by() -> None:
    # 3 n^2 at 1, 10 and 100.
    assert exponent([1, 10, 100], [3, 300, 30_000]) == pytest.approx(2)


def test_growth_is_fitted_to_every_name_that_a_printed_table_has_in_several_sizes() -> None:
    printed = ["name | jobs | CPU s | MB", "a | 10 | 1.5 | 200", "once | 10 | 7 | 7"]
    printed += ["a | 1,000 | 150 | 2000", "what was done in between"]
    ((name, cpu, memory),) = growth.exponents(growth.table(printed))
    assert (name, cpu, memory) == ("a", pytest.approx(1), pytest.approx(0.5))


def test_edited_prompt_is_asked_alone_by_ours_and_with_all_others_by_the_plain_script(
    tmp_path: Path,
) -> None:
    found = {name: staleness.verdict(name, tmp_path, 4, "one prompt", CLIENTS) for name in CLIENTS}
    assert found == {"userturn": "1 of 1, right", "plain script": "4 of 1, too many"}


def test_kill_repeats_no_more_than_was_in_flight(tmp_path: Path) -> None:
    job = interruption.Job(tmp_path / "userturn", "", interruption.questions(40))
    again, third = interruption.repeated("userturn", job, CLIENTS, 0.5)
    assert again <= interruption.CONCURRENCY
    assert third == 0


def test_bare_snakefile_has_as_many_jobs_as_it_is_asked_for(tmp_path: Path) -> None:
    folder = planning.floor(tmp_path / "bare", 6, planning.PLAIN_RULE)
    _, output = planning.snakemake(folder, *planning.DRY_RUN)
    assert planning.n_jobs(output) == 6


def test_replay_reads_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    replay.main([5])
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split(" | ")[:2] for row in rows] == [[name, "5"] for name in replay.READERS]
