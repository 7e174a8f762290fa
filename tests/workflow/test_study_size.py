"""A study's planned size is never below what may be asked; what a run says it asks, it asks."""

import re
from pathlib import Path

import pytest

from tests.support.self_play_study import DATASET, MODEL, collect, place, study, sweep
from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.judges.endpoint_verdicts import keys_and_decisions
from userturn.judges.judge import CellToJudge
from userturn.judges.kinds import format_of
from userturn.sources.registry import asked, judged
from userturn.sources.source import ANSWERS, USER_TURNS, Size, Turns
from userturn.storage.journal import Writer, files_of_journal
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.workflow.study import Study
from userturn.workflow.study_size import (
    Left,
    dataset_size,
    dataset_sizes,
    questions_left,
    requests_left,
)


@pytest.mark.parametrize(
    ("name", "n_items"), [("healthbench", 1000), ("healthbench_languages", 5000), ("mgsm", 2750)]
)
def test_a_limit_for_each_language_does_not_bound_the_whole(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    n_items: int,
) -> None:
    monkeypatch.chdir(ROOT)
    config = load_config(["config.yaml"])
    config["run"]["datasets"] = [name]
    size = dataset_size(Grid(config, tmp_path_factory.mktemp("results")), name)
    assert (size.n_items, size.is_counted) == (n_items, False)


def test_each_depth_of_self_play_reads_all_that_was_written_before_it(tmp_path: Path) -> None:
    grid = study(tmp_path, 3, answer={"max_tokens": 8}, user_turn={"max_tokens": 4})
    # Before the second answer there are 10 tokens of the item, an answer and a user turn.
    sizes = {DATASET: Size(n_items=4, n_tokens=10, is_counted=True)}
    loads = [of.count(sizes) for of in asked(grid).values() if of.kind == ANSWERS and of.depth > 1]
    assert loads == [(4, 4 * (10 + 12), 4 * 8), (4, 4 * (10 + 24), 4 * 8)]


NO_CONTROLS = {
    "human": [],
    "planted": 0,
    "chance_floor": 0,
    "edited": 0,
    "labelled": False,
    "injected": False,
}
PAID, SERVED = "gpt-5.4-mini", "gpt-oss-20b"


def requests(grid: Grid) -> dict[str, Left]:
    return requests_left(Study(grid), MODEL, dataset_sizes(grid))


def test_a_study_that_has_not_begun_asks_what_was_said(tmp_path: Path) -> None:
    grid = study(tmp_path, 3)
    # An answer and a user turn of each of 4 items at 3 depths; a conversation may end before.
    assert requests(grid) == {ANSWERS: Left(12, True), USER_TURNS: Left(12, True)}
    assert len(sweep(grid).asked) == 24


def test_a_sweep_that_was_stopped_asks_for_what_its_journal_has_not(tmp_path: Path) -> None:
    grid = study(tmp_path, 3)
    sweep(grid)
    assert requests(grid) == {}
    files = files_of_journal(grid.journal_folder(MODEL, "items"))
    journal = max(files, key=lambda path: path.stat().st_mtime_ns)  # the last depth's user turns
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-2]))
    assert sum(left.n for left in requests(grid).values()) == 2
    assert len(sweep(grid).asked) == 2


def decide(grid: Grid, judge_name: str, turns: Turns, n: int | None = None) -> None:
    """Let a judge have decided on the first questions about turns, or on all."""
    judge = judge_of(grid, judge_name)
    cell = CellToJudge(place(grid, turns.path), place(grid, turns.items))
    keys, _ = keys_and_decisions(judge, format_of(judge).prompt, cell)
    said = {"label": "generic", "rationale": ".", "genuine": False}
    with Writer(judge.journal("items")) as writer:
        for key in keys[:n]:
            writer.append({"key": key, "outcome": "ok", "said": said})


def judged_study(folder: Path, judge: str) -> Grid:
    run = {"temperatures": [0], "perturbations": ["none"], "judges": ["heuristic", judge]}
    return study(folder, 2, run=run, controls=NO_CONTROLS)


def test_a_judge_is_asked_about_each_different_turn_that_has_no_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    grid = judged_study(tmp_path, PAID)
    sizes = dataset_sizes(grid)
    assert questions_left(Study(grid), PAID, sizes) == Left(8, True)
    sweep(grid)
    collect(grid)
    now = Study(grid)
    assert questions_left(now, PAID, sizes) == Left(8)  # 4 items at 2 depths
    decide(grid, PAID, next(iter(judged(grid).values())), 1)
    assert questions_left(now, PAID, sizes) == Left(7)


def test_a_judge_that_has_decided_on_every_turn_is_looked_up_and_not_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    grid = judged_study(tmp_path, SERVED)
    sweep(grid)
    collect(grid)
    cell, deeper = judged(grid).values()
    decide(grid, SERVED, cell)
    assert Study(grid).judges.looked_up == "(?!)"
    decide(grid, SERVED, deeper)
    assert Study(grid).judges.looked_up == re.escape(SERVED)
