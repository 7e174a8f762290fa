"""What a run says that it will ask is what it asks."""

from pathlib import Path

import pytest

from tests.support.self_play_study import MODEL, collect, place, study, sweep
from tests.support.snakemake_runs import ROOT
from userturn.judges.endpoint_verdicts import keys_and_decisions
from userturn.judges.judge import CellToJudge
from userturn.judges.kinds import format_of
from userturn.sources.registry import judged
from userturn.sources.source import ANSWERS, USER_TURNS
from userturn.storage.journal import Writer, files_of_journal
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.workflow.study import Study
from userturn.workflow.study_size import Left, dataset_sizes, questions_left, requests_left

NO_CONTROLS = {
    "human": [],
    "planted": 0,
    "chance_floor": 0,
    "edited": 0,
    "labelled": False,
    "injected": False,
}
PAID = "gpt-5.4-mini"


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


def test_a_judge_is_asked_about_each_different_turn_that_has_no_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    run = {"temperatures": [0], "perturbations": ["none"], "judges": ["heuristic", PAID]}
    grid = study(tmp_path, 2, run=run, controls=NO_CONTROLS)
    sizes = dataset_sizes(grid)
    assert questions_left(Study(grid), PAID, sizes) == Left(8, True)
    sweep(grid)
    collect(grid)
    now = Study(grid)
    assert questions_left(now, PAID, sizes) == Left(8)  # 4 items at 2 depths
    judge, turns = judge_of(grid, PAID), next(iter(judged(grid).values()))
    cell = CellToJudge(place(grid, turns.path), place(grid, turns.items))
    keys, _ = keys_and_decisions(judge, format_of(judge).prompt, cell)
    with Writer(judge.journal("items")) as writer:
        said = {"label": "generic", "rationale": ".", "genuine": False}
        writer.append({"key": keys[0], "outcome": "ok", "said": said})
    assert questions_left(now, PAID, sizes) == Left(7)
