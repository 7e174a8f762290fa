"""Table `rates`: each cell's rate of genuine turns by each judge, with interval and coverage."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from userturn.datasets.clusters import clusters
from userturn.endpoints.http_errors import REFUSED
from userturn.stats.proportions import wilson
from userturn.storage.key_columns import CELL_KEYS, JUDGED_CELL_COLUMNS
from userturn.storage.parquet import Schema, write_table
from userturn.tables.item_counts import RATE
from userturn.tables.layout import (
    BOUNDS,
    GENUINE,
    SCORED,
    TEMPERATURE,
    Layout,
    texts,
)
from userturn.tables.turn_clusters import rate_over

if TYPE_CHECKING:  # a summary is made in a process for each cell, and needs little
    from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate",
    place=290,
    row="a cell and judge",
    made_of=("summaries",),
)
SCHEMA: Schema = {
    **JUDGED_CELL_COLUMNS,
    "n_items": pl.Int64,
    "n_turns": pl.Int64,
    "n_ok": pl.Int64,
    "n_empty": pl.Int64,
    "n_error": pl.Int64,
    "n_truncated": pl.Int64,
    "n_scored": pl.Int64,
    "n_unscored": pl.Int64,
    "n_refused": pl.Int64,
    "n_genuine": pl.Int64,
    **RATE,
}

SUMMARISED = [*CELL_KEYS, "item", "outcome", "finish_reason"]


def table(material: "Material") -> pl.DataFrame:
    """Return the table of a study."""
    return rates_of(pl.read_parquet(path) for path in sorted(material.paths["summaries"]))


def rate(n_genuine: int, n_scored: int, n_turns: int) -> dict[str, Any]:
    """Return a rate over the scored turns, with Wilson interval, coverage and bounds.

    The bounds are the rate over all turns if every unscored turn were not genuine, or genuine.
    """
    estimate, lower, upper = wilson(n_genuine, n_scored)
    n_unscored = n_turns - n_scored
    return {
        "estimate": estimate,
        "lower": lower,
        "upper": upper,
        "interval": "Wilson" if n_scored else None,
        "coverage": n_scored / n_turns if n_turns else None,
        "if_unscored_negative": n_genuine / n_turns if n_turns else None,
        "if_unscored_positive": (n_genuine + n_unscored) / n_turns if n_turns else None,
    }


def clustered_limits(verdicts: pl.DataFrame) -> dict[str, Any]:
    """Return the interval of a cell whose items or conversations have several turns."""
    interval, method = rate_over(verdicts.with_columns(clusters()), ["item"])
    seen = interval.estimate is not None
    limits = {"lower": interval.lower, "upper": interval.upper}
    return {**limits, "interval": method if seen else None}


def summarise_judge(turns: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, Any]:
    """Return the counts and the rate of one cell by one judge."""
    refused = verdicts["unscored_reason"].cast(pl.String).str.contains(REFUSED, literal=True)
    n_clusters = turns.select(clusters().n_unique()).item()
    several = verdicts.height and n_clusters < turns.height
    outcomes = dict(turns.group_by("outcome").len().iter_rows())
    n_scored = verdicts["genuine"].count()
    n_genuine = int(verdicts["genuine"].sum())
    return {
        **turns.select(CELL_KEYS).row(0, named=True),
        "judge": verdicts["judge"][0],
        "n_items": n_clusters,
        "n_turns": turns.height,
        **{f"n_{outcome}": outcomes.get(outcome, 0) for outcome in ("ok", "empty", "error")},
        "n_truncated": turns.filter(pl.col("finish_reason") == "length").height,
        "n_scored": n_scored,
        "n_unscored": turns.height - n_scored,
        "n_refused": int(refused.sum()),
        "n_genuine": n_genuine,
        **rate(n_genuine, n_scored, turns.height),
        **(clustered_limits(verdicts) if several else {}),
    }


def summarise(
    path_to_user_turns: str,
    paths_to_verdicts: Sequence[str],
    identity: str,
    path_to_summary: str,
) -> None:
    """Write one row per judge: what became of a cell's turns, and the rate of genuine ones."""
    turns = pl.read_parquet(path_to_user_turns, columns=SUMMARISED)
    verdicts = [pl.read_parquet(path) for path in paths_to_verdicts]
    write_table(summary(turns, verdicts), path_to_summary, identity)


def summary(turns: pl.DataFrame, verdicts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return one row per judge: what became of a cell's turns, and the rate of genuine ones."""
    rows = [summarise_judge(turns, table) for table in verdicts]
    return pl.DataFrame(rows, schema=SCHEMA)


def rates_of(summaries: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return the summaries of all cells as one table."""
    return pl.concat(summaries).sort(*CELL_KEYS, "judge")


LAYOUT = Layout(
    "Every cell",
    {},
    (
        *texts("model", "dataset"),
        TEMPERATURE,
        *texts("perturbation", "judge"),
        GENUINE,
        SCORED,
        BOUNDS,
    ),
)
