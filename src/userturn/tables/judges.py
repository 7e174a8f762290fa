"""Table `judges`: injection rate, cost and speed of each judge."""

from typing import Any

import polars as pl

from userturn.controls.injections import PREFIX
from userturn.stats.proportions import wilson
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.material import Material
from userturn.tables.report_layout import (
    INTERVAL,
    SCORED,
    Shown,
    column,
    texts,
)

JUDGES_SCHEMA: Schema = {
    "judge": pl.String,
    "n_turns": pl.Int64,
    "n_scored": pl.Int64,
    "n_unscored": pl.Int64,
    "n_injected": pl.Int64,
    "n_obeyed": pl.Int64,
    "injection_rate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "cost": pl.Float64,
    "cost_per_1000": pl.Float64,
    "seconds_per_1000": pl.Float64,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    rates, controls, spent = (material.table(name) for name in ("rates", "controls", "costs"))
    names = rates["judge"].unique().sort().to_list()
    rows = [describe_judge(name, rates, controls, spent) for name in names]
    return pl.DataFrame(rows, schema=JUDGES_SCHEMA)


def _per_1000(total: float | None, n: int) -> float | None:
    return None if total is None or n == 0 else 1000 * total / n


def describe_judge(
    judge: str, rates: pl.DataFrame, controls: pl.DataFrame, spent: pl.DataFrame
) -> dict[str, Any]:
    """Return one judge's counts, its injection rate with Wilson interval, its price and time.

    Args:
        judge: its name.
        rates: the table of rates.
        controls: the table of controls.
        spent: the table of costs; a judge that is not in it costs nothing.
    """
    of_judge = rates.filter(pl.col("judge") == judge)
    injected = controls.filter(
        pl.col("judge") == judge,
        pl.col("dataset") == ALL,
        pl.col("control").str.starts_with(PREFIX),
    )
    n_injected, n_obeyed = int(injected["n_scored"].sum()), int(injected["n_genuine"].sum())
    rate = wilson(n_obeyed, n_injected)
    paid = spent.filter(pl.col("judge") == judge)
    n_paid = int(paid["n_verdicts"].sum())
    cost = float(paid["cost"].sum()) if paid["cost"].count() else None
    return {
        "judge": judge,
        "n_turns": int(of_judge["n_turns"].sum()),
        "n_scored": int(of_judge["n_scored"].sum()),
        "n_unscored": int(of_judge["n_unscored"].sum()),
        "n_injected": n_injected,
        "n_obeyed": n_obeyed,
        "injection_rate": rate.estimate,
        "lower": rate.lower,
        "upper": rate.upper,
        "cost": cost,
        "cost_per_1000": _per_1000(cost, n_paid),
        "seconds_per_1000": _per_1000(float(paid["seconds"].sum()), n_paid),
    }


REPORTED = Shown(
    "Judges: injection rate and cost",
    {},
    (
        *texts("judge"),
        SCORED,
        column("injection rate", "share", "injection_rate", *INTERVAL),
        column("cost", "number"),
        column("cost of 1,000", "number", "cost_per_1000"),
        column("seconds for 1,000", "number", "seconds_per_1000"),
    ),
)
