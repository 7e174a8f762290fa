"""Table `chance_floor`: a rate less the share of turns that would fit any answer.

The same turns are judged twice, after their own answer and after another item's. The second share
of genuine turns is the floor, since no turn reacts to an answer that its writer did not see.
"""

from typing import Any

import numpy as np
import polars as pl

from userturn.datasets.clusters import clusters
from userturn.judges.judge_cell import scan_verdicts
from userturn.stats.clustered import Patterns, pooled_rate
from userturn.stats.margins import Counts, change, rates, side_by_side
from userturn.storage.key_columns import JUDGED_CELL_COLUMNS, JUDGED_CELL_KEYS, TURN_KEYS
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.layout import INTERVAL, TEMPERATURE, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="measure_chance_floor",
    place=240,
    row="a cell and judge",
    made_of=("swapped_verdicts", "unswapped_verdicts"),
    version=2,
)
MEANINGS = {
    "n_items": "items of the turns that were judged again",
    "n_turns": "turns that were judged again",
    "n_scored": "of which have a label after another answer",
    "rate": "rate over all scored turns, as in the table of rates",
    "floor": "share of genuine turns among those judged again, each for as many of its cell",
    "difference": "rate less floor: a lower bound of the share of turns that react",
}
SCHEMA: Schema = {
    **JUDGED_CELL_COLUMNS,
    "n_items": pl.Int64,
    "n_turns": pl.Int64,
    "n_scored": pl.Int64,
    "rate": pl.Float64,
    "floor": pl.Float64,
    "floor_lower": pl.Float64,
    "floor_upper": pl.Float64,
    "difference": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "reason": pl.String,
}
NO_OTHER_ANSWER = "no other item of the cell has another answer"
NOT_SCORED = "no turn has a verdict after another answer, or none after its own"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study; empty if the study has no chance floor."""
    if not material.paths["swapped_verdicts"]:
        return pl.DataFrame(schema=SCHEMA)
    keys = [*TURN_KEYS, "judge", "genuine"]
    own = scan_verdicts(material.paths["unswapped_verdicts"]).select(keys)
    swapped = material.read("swapped_verdicts", keys).rename({"genuine": "after_another"})
    return chance_floor(own.collect(), swapped)


def chance_floor(own: pl.DataFrame, swapped: pl.DataFrame) -> pl.DataFrame:
    """Return one row per cell and judge, and one over all datasets.

    Args:
        own: one row per turn and judge, `genuine` after the turn's own answer, null if unscored.
        swapped: some of these turns, `after_another` after another item's answer.
    """
    items = own.group_by(*JUDGED_CELL_KEYS, clusters()).agg(
        n=pl.col("genuine").count(), y=pl.col("genuine").sum()
    )
    floors = swapped.group_by(*JUDGED_CELL_KEYS, clusters()).agg(
        n_turns=pl.len(), m=pl.col("after_another").count(), z=pl.col("after_another").sum()
    )
    on = [*JUDGED_CELL_KEYS, "item"]
    both = items.join(floors, on=on, how="left").fill_null(0).sort(on)
    both = both.with_columns(source=pl.col("dataset"))
    groups = pl.concat([both, both.with_columns(dataset=pl.lit(ALL))])
    parts = groups.partition_by(JUDGED_CELL_KEYS, as_dict=True)
    order = ["judge", "model", pl.col("dataset") != ALL, *JUDGED_CELL_KEYS]
    wanted = groups.select(JUDGED_CELL_KEYS).unique().sort(order)
    rows = [row | measure(parts[tuple(row.values())]) for row in wanted.iter_rows(named=True)]
    return pl.DataFrame(rows, schema=SCHEMA)


def measure(items: pl.DataFrame) -> dict[str, Any]:
    """Return rate, floor and their difference.

    The rate is over all scored turns. The floor is over those that were judged again, each of which
    stands for the same number of its cell's scored turns.
    """
    n_turns, n_scored = int(items["n_turns"].sum()), int(items["m"].sum())
    counts = {
        "n_items": items.filter(pl.col("m") > 0).height,
        "n_turns": n_turns,
        "n_scored": n_scored,
    }
    of_cells = items.group_by("source").agg(pl.col("n", "m", "n_turns").sum()).sort("source")
    without = of_cells.filter((pl.col("m") == 0) & (pl.col("n") > 0))["source"].to_list()
    rate = Patterns(*(items.select(pl.lit(1.0), "n", "y").cast(pl.Float64).to_numpy().T)).seen
    own = pooled_rate(rate).estimate if len(rate.n_items) else None
    if own is None or n_scored == 0 or without:
        return {**counts, "rate": own, "reason": _why(n_turns, n_scored, own, without)}
    found = _margins(items, of_cells)
    floor, _ = rates(found)
    difference = change(found)
    return {
        **counts,
        "rate": own,
        "floor": floor.estimate,
        "floor_lower": floor.lower,
        "floor_upper": floor.upper,
        "difference": difference.estimate,
        "lower": difference.lower,
        "upper": difference.upper,
        "reason": None,
    }


def _why(n_turns: int, n_scored: int, own: float | None, without: list[str]) -> str:
    if n_turns == 0:
        return NO_OTHER_ANSWER
    if own is None or n_scored == 0:
        return NOT_SCORED
    return f"no floor of {', '.join(without)}"


def _margins(items: pl.DataFrame, of_cells: pl.DataFrame) -> Counts:
    """Return the turns after another answer and after their own; the first stand for the second."""
    stands_for = of_cells.filter(pl.col("n") > 0).select("source", w=pl.col("n") / pl.col("m"))
    table = items.join(stands_for, on="source", how="left", maintain_order="left").fill_null(0)
    m, z = (table[name].cast(pl.Float64).to_numpy() for name in ("m", "z"))
    w, n, y = (table[name].cast(pl.Float64).to_numpy() for name in ("w", "n", "y"))
    least = float((w**2) @ m / (w @ m))  # Kish 1965, what unequal weights cost
    return side_by_side((w * m, w * z), (n, y))._replace(least=np.array([least, 1.0]))


LAYOUT = Layout(
    "Chance floor: the same turns after another item's answer",
    {},
    (
        *texts("model", "dataset"),
        TEMPERATURE,
        *texts("perturbation", "judge"),
        column("genuine", "share", "rate"),
        column("floor", "share", "floor", "floor_lower", "floor_upper"),
        column("above the floor", "change", "difference", *INTERVAL),
        column("judged twice", "of", "n_scored", "n_turns"),
        *texts("reason"),
    ),
)
