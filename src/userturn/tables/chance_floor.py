"""Table `chance_floor`: a rate less the share of turns that would fit any answer.

The same turns are judged twice, after their own answer and after another item's. The second share
of genuine turns is the floor, since no turn reacts to an answer that its writer did not see.
"""

from typing import Any

import polars as pl

from userturn.datasets.clusters import clusters
from userturn.judges.judge_cell import scan_verdicts
from userturn.stats.clustered import mean_share
from userturn.stats.paired import paired_difference
from userturn.storage.key_columns import JUDGED_CELL_COLUMNS, JUDGED_CELL_KEYS, TURN_KEYS
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.layout import INTERVAL, TEMPERATURE, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_clusters import paired_shares
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="measure_chance_floor",
    place=240,
    row="a cell and judge",
    made_of=("swapped_verdicts", "unswapped_verdicts"),
)
MEANINGS = {
    "n_turns": "turns that were judged again",
    "n_scored": "turns with a label after both answers",
    "difference": "rate minus floor",
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
NOT_SCORED = "no turn has a verdict after both answers"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study; empty if the study has no chance floor."""
    if not material.paths["swapped_verdicts"]:
        return pl.DataFrame(schema=SCHEMA)
    keys = [*TURN_KEYS, "judge", "genuine"]
    own = scan_verdicts(material.paths["unswapped_verdicts"]).select(keys)
    cells = own.select(JUDGED_CELL_KEYS).unique().collect()
    swapped = material.read("swapped_verdicts", keys).rename({"genuine": "after_another"})
    judged_twice = own.join(swapped.lazy(), on=keys[:-1]).collect()
    return chance_floor(judged_twice, cells)


def chance_floor(judged_twice: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Return one row per cell and judge, and one over all datasets.

    Args:
        judged_twice: one row per turn and judge: `genuine` after the turn's own answer,
            `after_another` after another item's, null if unscored.
        cells: the cells and judges that get a row.
    """
    turns = judged_twice.with_columns(source=pl.col("dataset"))
    over_all = [frame.with_columns(dataset=pl.lit(ALL)) for frame in (turns, cells)]
    groups = pl.concat([turns, over_all[0]]).partition_by(JUDGED_CELL_KEYS, as_dict=True)
    order = ["judge", "model", pl.col("dataset") != ALL, *JUDGED_CELL_KEYS]
    wanted = pl.concat([cells, over_all[1]]).select(JUDGED_CELL_KEYS).unique().sort(order)
    rows = [
        {**row, **measure(groups.get(tuple(row.values()), turns.clear()))}
        for row in wanted.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def measure(turns: pl.DataFrame) -> dict[str, Any]:
    """Return rate, floor and their difference over the turns that have both verdicts."""
    scored = turns.drop_nulls(["genuine", "after_another"])
    of_item = scored.group_by("source", clusters()).agg(
        n=pl.len(), own=pl.col("genuine").sum(), other=pl.col("after_another").sum()
    )
    counts = {"n_items": of_item.height, "n_turns": turns.height, "n_scored": scored.height}
    if scored.is_empty():
        return {**counts, "reason": NOT_SCORED if turns.height else NO_OTHER_ANSWER}
    pairs = of_item.select(
        before=pl.col("other") / pl.col("n"),
        after=pl.col("own") / pl.col("n"),
        n_before="n",
        n_after="n",
    )
    shares = paired_shares(pairs)
    floor = mean_share(shares.before, shares.n_items, shares.turns_before)
    rate = mean_share(shares.after, shares.n_items, shares.turns_after)
    difference = paired_difference(shares)
    return {
        **counts,
        "rate": rate.estimate,
        "floor": floor.estimate,
        "floor_lower": floor.lower,
        "floor_upper": floor.upper,
        "difference": difference.estimate,
        "lower": difference.lower,
        "upper": difference.upper,
        "reason": None,
    }


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
