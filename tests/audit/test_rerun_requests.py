"""Verdicts that are asked for again are drawn from every source that judges read."""

from pathlib import Path

import numpy as np
import polars as pl

from tests.support.self_play_study import collect, study, sweep
from userturn.audit.rerun_requests import generated_tables, rejudge_sample
from userturn.study.grid import Grid
from userturn.study.record import record_study

DEPTH = "results/self_play/tiny/items/t0/depth-2"


def played(folder: Path) -> Grid:
    """Return a finished study of four items at two depths, with its record."""
    grid = study(folder, 2)
    sweep(grid)
    collect(grid)
    record_study(grid.config, "i", str(grid.results / "study.json"))
    return grid


def test_verdicts_on_self_play_are_given_again_after_its_own_conversations(tmp_path: Path) -> None:
    grid = played(tmp_path)
    path = grid.results / DEPTH.removeprefix("results/") / "verdicts" / "heuristic.parquet"
    labels = pl.read_parquet(path)["label"]
    found = rejudge_sample(grid.results, 1000, np.random.default_rng(0)).table
    of_depth = found.filter(pl.col("artifact").str.starts_with(DEPTH))
    assert of_depth.height == labels.count() == 4
    assert of_depth["equal_label"].all() and of_depth["equal_bytes"].all()


def test_requests_of_every_source_can_be_sent_again(tmp_path: Path) -> None:
    grid = played(tmp_path)
    drawn_from = {path.relative_to(grid.results).as_posix() for path in generated_tables(grid)}
    assert drawn_from == {
        "answers/tiny/items.parquet",
        "cells/tiny/items/t0/none/user_turns.parquet",
        *(f"{DEPTH.removeprefix('results/')}/{name}.parquet" for name in ("answers", "user_turns")),
    }
