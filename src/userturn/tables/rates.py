"""Table `rates`: each cell's rate of genuine turns by each judge, with interval and coverage."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from userturn.datasets.clusters import clusters
from userturn.endpoints.http_errors import REFUSED
from userturn.stats.proportions import wilson
from userturn.storage.key_columns import CELL_KEYS, JUDGED_CELL_COLUMNS
from userturn.storage.parquet import Schema
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

if TYPE_CHECKING:
    from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate",
    place=290,
    row="a cell and judge",
    made_of=("user_turns", "verdicts"),
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
    verdicts: dict[Path, list[Path]] = {}
    for path in map(Path, material.paths["verdicts"]):
        verdicts.setdefault(path.parent.parent, []).append(path)
    turns = map(Path, material.paths["user_turns"])
    tables = [read_cell_rates(path, verdicts.get(path.parent, ())) for path in turns]
    return pl.concat([pl.DataFrame(schema=SCHEMA), *tables]).sort(*CELL_KEYS, "judge")


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


def cell_rates(turns: pl.DataFrame, verdicts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return one row per judge of a cell: what became of its turns, and their rate."""
    return pl.DataFrame([summarise_judge(turns, table) for table in verdicts], schema=SCHEMA)


def read_cell_rates(path_to_user_turns: Path, paths_to_verdicts: Iterable[Path]) -> pl.DataFrame:
    """Return the rates of one cell from its files."""
    turns = pl.read_parquet(path_to_user_turns, columns=SUMMARISED)
    return cell_rates(turns, map(pl.read_parquet, paths_to_verdicts))


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
