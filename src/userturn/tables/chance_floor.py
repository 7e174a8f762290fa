"""The chance floor of rates: the share of turns that would fit any answer.

The same turns are judged twice, after their own answer and after another item's. The second share
of genuine turns is the floor, since no turn reacts to an answer that its writer did not see.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from userturn.datasets.turns import clusters
from userturn.humans.labels import PEOPLE
from userturn.stats.margins import Counts, change, rates, share_that_reacts, side_by_side
from userturn.stats.proportions import Interval, copies
from userturn.storage.table_files import JUDGED_CELL_COLUMNS, JUDGED_CELL_KEYS, TURN_KEYS, Schema
from userturn.study.cells import ALL
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import LIMITS, limits_of, sorted_groups

FLOOR: Schema = {
    "n_judged_again": pl.Int64,
    "n_scored_again": pl.Int64,
    **{f"{name}{end}": pl.Float64 for name in ("floor", "above_floor", "reacts") for end in LIMITS},
    "floor_reason": pl.String,
    "reacts_reason": pl.String,
}
SCHEMA: Schema = {**JUDGED_CELL_COLUMNS, **FLOOR}
NO_OTHER_ANSWER = "no other item of the cell has another answer"
NOBODY = "people's labels give the judge no sensitivity: at least what is above the floor"
NOT_ABOVE = "the judge's sensitivity by people's labels is not above the floor"
NOT_SCORED = "no turn has a verdict after another answer, or none after its own"


def chance_floors(material: Material) -> pl.DataFrame:
    """Return the chance floors of a study, empty if no turn was judged after another answer."""
    if not material.paths["swapped_verdicts"]:
        return pl.DataFrame(schema=SCHEMA)
    keys = [*TURN_KEYS, "judge", "genuine"]
    own = material.read("unswapped_verdicts", keys)
    swapped = material.read("swapped_verdicts", keys).rename({"genuine": "after_another"})
    card = material.table("judges").filter(source=PEOPLE, measure="sensitivity", by=ALL)
    by_people = card.drop_nulls("estimate").select("judge", "estimate", "lower", "upper")
    sensitivity = {judge: Interval(*limits) for judge, *limits in by_people.iter_rows()}
    return chance_floor(own, swapped, sensitivity)


def chance_floor(
    own: pl.DataFrame, swapped: pl.DataFrame, sensitivity: Mapping[str, Interval]
) -> pl.DataFrame:
    """Return one row per cell and judge, and one over all datasets.

    `own` has one row per turn and judge. Its `genuine` is after the turn's own answer, and null if
    unscored. `swapped` has some of these turns, with `after_another` after another item's answer.
    `sensitivity` is by judge, from people's labels, and lacks judges without any.
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
    rows = []
    for names, part in sorted_groups(groups, JUDGED_CELL_KEYS):
        rows.append(names | measure(part, sensitivity.get(names["judge"])))
    return pl.DataFrame(rows, schema=SCHEMA)


def measure(items: pl.DataFrame, sensitivity: Interval | None) -> dict[str, Any]:
    """Return the columns of the floor, the rate above it, and the share of turns that react.

    The rate is over all scored turns. The floor is over the turns that were judged again. Each of
    them stands for the same number of its cell's scored turns.
    """
    n_turns, n_scored = int(items["n_turns"].sum()), int(items["m"].sum())
    counts = {"n_judged_again": n_turns, "n_scored_again": n_scored}
    of_cells = items.group_by("source").agg(pl.col("n", "m", "n_turns").sum()).sort("source")
    without = of_cells.filter((pl.col("m") == 0) & (pl.col("n") > 0))["source"].to_list()
    if items["n"].sum() == 0 or n_scored == 0 or without:
        why = f"no floor of {', '.join(without)}" if n_scored and without else NOT_SCORED
        return {**counts, "floor_reason": why if n_turns else NO_OTHER_ANSWER}
    margins = _margins(items, of_cells)
    row = {
        **counts,
        **limits_of("floor", rates(margins)[0]),
        **limits_of("above_floor", change(margins)),
    }
    if sensitivity is None:
        return {**row, "reacts_reason": NOBODY}
    reacts = share_that_reacts(margins, sensitivity)
    reason = NOT_ABOVE if reacts.estimate is None else None
    return {**row, **limits_of("reacts", reacts), "reacts_reason": reason}


def _margins(items: pl.DataFrame, of_cells: pl.DataFrame) -> Counts:
    """Return the turns after another answer, weighted to stand for all, and after their own."""
    stands_for = of_cells.filter(pl.col("n") > 0).select("source", w=pl.col("n") / pl.col("m"))
    table = items.join(stands_for, on="source", how="left", maintain_order="left").fill_null(0)
    m, z = (table[name].cast(pl.Float64).to_numpy() for name in ("m", "z"))
    w, n, y = (table[name].cast(pl.Float64).to_numpy() for name in ("w", "n", "y"))
    once = copies(m, z, n, y)
    m, z, n, y = m / once, z / once, n / once, y / once
    least = float((w**2) @ m / (w @ m))  # Kish 1965: the cost of unequal weights
    return side_by_side((w * m, w * z), (n, y))._replace(least=np.array([least, 1.0]))
