"""A round that was drawn stays as it is; one without turns is drawn when there are some."""

from functools import partial
from pathlib import Path

import polars as pl

from tests.support.made_up_results import made_up_config
from userturn.humans.rounds import Drawn, draw_once
from userturn.study.grid import Grid
from userturn.workflow.humans import RoundGrid

CONFIG = made_up_config(["a-1b"], ["d"], (0,), ("none",), ("heuristic",))


def drawing(*ids: str) -> Drawn:
    table = pl.DataFrame({"id": ids}, schema={"id": pl.String})
    return Drawn(table, table, {})


def test_a_round_without_turns_is_drawn_later_and_then_stays(tmp_path: Path) -> None:
    rounds = RoundGrid(Grid(CONFIG, tmp_path), "humans", ["first"])
    key, items = (tmp_path / f"{name}.parquet" for name in ("key", "items"))
    found = []
    for drawn in (drawing(), drawing("a", "b"), drawing("c")):
        draw_once(rounds, "first", partial(lambda now: now, drawn), str(key), str(items))
        tables = [pl.read_parquet(path)["id"].to_list() for path in (key, items)]
        found.append((*tables, rounds.is_drawn("first")))
    assert found == [
        ([], [], False),
        (["a", "b"], ["a", "b"], True),
        (["a", "b"], ["a", "b"], True),
    ]
