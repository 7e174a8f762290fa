"""A request is left out of a plan only where there is nothing to show."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.self_play_study import DATASET, MODEL, collect, study, sweep
from userturn.audit.check_probes import check_probes
from userturn.audit.pair import Pair
from userturn.prompts.perturbations import NO_ANSWER, NO_OTHER, NO_REFERENCE
from userturn.sources.registry import asked
from userturn.sources.source import USER_TURNS
from userturn.study.grid import Grid
from userturn.study.record import study_record


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """Four items that no person replied to, so nothing is asked after the dataset's answer."""
    run = {"temperatures": [0], "perturbations": ["none", "reference_answer"]}
    grid = study(tmp_path_factory.mktemp("probes"), 1, run=run | {"judges": ["heuristic"]})
    sweep(grid)
    collect(grid)
    return grid


def found(grid: Grid) -> list[str]:
    """Return the perturbations of the cells with a finding."""
    contents = study_record(grid.config, grid.contents)
    pair = Pair(grid, contents, MODEL, DATASET, True, frozenset())
    turns = [of for of in asked(grid).values() if of.kind == USER_TURNS]
    return [str(of.cell["perturbation"]) for of in turns if list(check_probes(pair, of))]


def test_requests_that_were_left_out_for_want_of_a_persons_reply_are_not_found(grid: Grid) -> None:
    assert found(grid) == []


@pytest.mark.parametrize("reason", [NO_ANSWER, NO_REFERENCE, f"{NO_OTHER}: x has none"])
def test_request_that_was_left_out_though_there_is_an_answer_is_found(
    grid: Grid, reason: str
) -> None:
    (cell,) = (cell for cell in grid.cells if cell.perturbation == "none")
    path = Path(grid.results, "cells", cell.folder, "user_turns.parquet")
    whole, first = path.read_bytes(), pl.int_range(pl.len()) == 0
    none = {name: pl.when(~first).then(name) for name in ("key", "answer", "change")}
    error = pl.when(first).then(pl.lit(reason)).otherwise("error")
    pl.read_parquet(path).with_columns(**none, error=error).write_parquet(path)
    try:
        assert found(grid) == ["none"]
    finally:
        path.write_bytes(whole)
