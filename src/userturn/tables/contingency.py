"""Table `contingency`: how much each model's own turns depend on the answer that they follow.

A sample is likelier after its own context by construction, so compare each row with a null: turns
written after no answer or another item's (control perturbations), and turns that a judge calls not
genuine.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from userturn.likelihood.gains import turn_gains
from userturn.sources.scores import OWN_TURNS
from userturn.stats.clustered_means import clustered_mean
from userturn.storage.key_columns import CELL_KEYS, JUDGED_CELL_COLUMNS, TURN_KEYS
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.layout import TEMPERATURE, Layout, column, texts
from userturn.tables.likelihood import IDENTIFIED, identification
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_likelihood",
    place=150,
    row="a cell, judge and verdict; `all` is over all turns",
    made_of=("scores", "verdicts"),
    needs="scores",
)
MEANINGS = {
    "n_turns": "own turns in the sample",
    "n_scored": "turns that could be scored after their own context and after others",
    "judge": "name of the judge; `all` for turns of any verdict",
}
LIMITS = ("lower", "upper")
SCHEMA: Schema = {
    **JUDGED_CELL_COLUMNS,
    "turns": pl.String,
    "n_turns": pl.Int64,
    "n_scored": pl.Int64,
    "chance": pl.Float64,
    "identified": pl.Float64,
    **{f"identified_{limit}": pl.Float64 for limit in LIMITS},
    "gain": pl.Float64,
    **{f"gain_{limit}": pl.Float64 for limit in LIMITS},
}
NAME = "identified_answer"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    paths = [path for path in material.paths["scores"] if path.endswith(f"{OWN_TURNS}.parquet")]
    gains = [turn_gains(pl.read_parquet(path)) for path in sorted(paths)]
    if not gains:
        return pl.DataFrame(schema=SCHEMA)
    verdicts = material.read("verdicts", [*TURN_KEYS, "judge", "genuine"])
    judged = pl.concat(gains).join(verdicts, on=TURN_KEYS, how="left")
    return contingency(pl.concat(gains), judged)


def contingency(gains: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return the gain and identification of each cell's turns, all and by each judge's verdict.

    Args:
        gains: one row per turn (`likelihood.gains.turn_gains`).
        judged: one row per turn and judge, with `judge` and `genuine`.
    """
    everything = gains.with_columns(judge=pl.lit(ALL), turns=pl.lit(ALL))
    verdict = pl.when("genuine").then(pl.lit("genuine")).otherwise(pl.lit("not_genuine"))
    labelled = judged.drop_nulls("genuine").with_columns(turns=verdict).drop("genuine")
    together = pl.concat([everything, labelled.select(everything.columns)])
    groups = together.partition_by(*CELL_KEYS, "judge", "turns", maintain_order=True)
    table = pl.DataFrame([_row(group) for group in groups], schema=SCHEMA)
    return table.sort(*CELL_KEYS, pl.col("judge") != ALL, "judge", "turns")


def _row(turns: pl.DataFrame) -> dict[str, Any]:
    seen = turns.with_columns(value=pl.col("gain_answer") / pl.col("n_tokens"))
    seen = seen.drop_nulls("value")
    found = identification(turns, NAME, IDENTIFIED[NAME])
    gain = clustered_mean(seen["value"], seen["conversation"].to_list())
    return {
        **turns.select(*CELL_KEYS, "judge", "turns").row(0, named=True),
        "n_turns": turns.height,
        "n_scored": seen.height,
        "chance": found.pop("chance"),
        **dict(_renamed(found, "identified")),
        **dict(_renamed(gain._asdict(), "gain")),
    }


def _renamed(interval: dict[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    yield name, interval["estimate"]
    yield from ((f"{name}_{limit}", interval[limit]) for limit in LIMITS)


LAYOUT = Layout(
    "The models' own turns: how much they depend on the answer",
    {},
    (
        *texts("model", "dataset"),
        TEMPERATURE,
        *texts("perturbation", "judge", "turns"),
        column("gain, nats a token", "number", "gain", "gain_lower", "gain_upper"),
        column("identified", "share", "identified", "identified_lower", "identified_upper"),
        column("chance", "share", "chance"),
        column("scored", "of", "n_scored", "n_turns"),
    ),
)
