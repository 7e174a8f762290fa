"""One job works through all cells of a judge, and passes over tables without a turn."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tests.support.judged_cell import cell, judge
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.pending_cells import judge_pending_cells


def test_table_without_a_turn_is_counted_and_nothing_is_asked_of_it(tmp_path: Path) -> None:
    full = cell(tmp_path, "Why?", name="cells/m/d/t0/none").path_to_user_turns
    empty = cell(tmp_path, "Why?", name="chance_floor/m/d").path_to_user_turns
    pl.read_parquet(empty).clear().write_parquet(empty)
    asked = list[tuple[str, str]]()

    def fill(_: Judge, cells: Sequence[CellToJudge]) -> int:
        asked.extend((one.path_to_user_turns, one.path_to_items) for one in cells)
        return len(cells)

    marker = tmp_path / "marker.json"
    paths = [str(empty), str(full)]
    judge_pending_cells(
        fill, judge(tmp_path, ""), ["a", "b"], paths, ["of empty", "of full"], str(marker)
    )
    assert asked == [(str(full), "of full")]
    said = json.loads(marker.read_text())
    assert (said["n_cells"], said["n_asked"]) == (2, 1)  # both were read by the job
