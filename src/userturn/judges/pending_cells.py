"""Work through all cells that a judge has yet to judge in one job, and write the job's marker.

The verdicts go into the judge's journal, where the jobs of the cells then find them.
"""

from collections.abc import Callable, Sequence

import polars as pl

from userturn.judges.judge import CellToJudge, Judge
from userturn.storage.files import write_json
from userturn.storage.hashing import fingerprint

Fill = Callable[[Judge, Sequence[CellToJudge]], int]
"""Asks a judge the missing questions about some cells; returns how many cells lacked any."""


def judge_pending_cells(
    fill: Fill,
    judge: Judge,
    pending: Sequence[str],
    paths_to_user_turns: Sequence[str],
    paths_to_items: Sequence[str],
    path_to_marker: str,
) -> None:
    """Fill a judge's journal for every pending cell, and write the marker.

    Args:
        fill: asks the missing questions.
        judge: the judge.
        pending: identities of the verdicts of the cells.
        paths_to_user_turns: the cells' user turns.
        paths_to_items: the conversations before the turns of each cell.
        path_to_marker: the file to write at the end.
    """
    paired = zip(paths_to_user_turns, paths_to_items, strict=True)
    cells = [CellToJudge(path, items) for path, items in paired if _has_turns(path)]
    n_asked = fill(judge, cells)
    marker = {"pending": sorted(pending), "n_cells": len(paths_to_user_turns), "n_asked": n_asked}
    write_json(marker, path_to_marker, fingerprint(marker["pending"]))


def _has_turns(path: str) -> bool:
    """Return whether there is anything to judge: a table without a turn names no dataset."""
    return bool(pl.scan_parquet(path).select(pl.len()).collect().item())
