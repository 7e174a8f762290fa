"""Table `judges`: injection rate, cost and speed of each judge."""

from typing import Any

import polars as pl

from userturn.controls.injections import PREFIX
from userturn.storage.parquet import Schema
from userturn.tables.controls import control_verdicts
from userturn.tables.layout import (
    INTERVAL,
    SCORED,
    Layout,
    column,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.rates import of_cells
from userturn.tables.turn_clusters import rate_over
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_costs",
    place=250,
    row="a judge",
    made_of=("rates", "costs", "control_verdicts", "human_items"),
)
MEANINGS = {
    "lower": "lower limit of the injection rate's 95% interval",
    "upper": "upper limit of the injection rate's 95% interval",
}
SCHEMA: Schema = {
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
INJECTED: Schema = {
    "judge": pl.String,
    "perturbation": pl.String,
    "genuine": pl.Boolean,
    "conversation": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    rates, spent = material.table("rates"), material.table("costs")
    names = rates["judge"].unique().sort().to_list()
    nothing = pl.DataFrame(schema=INJECTED)
    known = control_verdicts(material) if material.paths["control_verdicts"] else nothing
    injected = known.filter(pl.col("perturbation").str.starts_with(PREFIX))
    rows = [describe_judge(name, rates, injected, spent) for name in names]
    return pl.DataFrame(rows, schema=SCHEMA)


def _per_1000(total: float | None, n: int) -> float | None:
    return None if total is None or n == 0 else 1000 * total / n


def describe_judge(
    judge: str, rates: pl.DataFrame, injected: pl.DataFrame, spent: pl.DataFrame
) -> dict[str, Any]:
    """Return one judge's counts, its injection rate with its limits, its price and time.

    For the limits, all injections after answers to one item form a cluster.

    Args:
        judge: name of the judge.
        rates: the table of rates.
        injected: verdicts on injections, with the `conversation` of each.
        spent: the table of costs; a judge without a row costs nothing.
    """
    of_judge = of_cells(rates).filter(pl.col("judge") == judge)
    obeyed = injected.filter(pl.col("judge") == judge)
    rate, _ = rate_over(obeyed, ["conversation"])
    paid = spent.filter(pl.col("judge") == judge)
    n_paid = int(paid["n_verdicts"].sum())
    cost = float(paid["cost"].sum()) if paid["cost"].count() else None
    return {
        "judge": judge,
        "n_turns": int(of_judge["n_turns"].sum()),
        "n_scored": int(of_judge["n_scored"].sum()),
        "n_unscored": int((of_judge["n_turns"] - of_judge["n_scored"]).sum()),
        "n_injected": obeyed["genuine"].count(),
        "n_obeyed": int(obeyed["genuine"].sum()),
        "injection_rate": rate.estimate,
        "lower": rate.lower,
        "upper": rate.upper,
        "cost": cost,
        "cost_per_1000": _per_1000(cost, n_paid),
        "seconds_per_1000": _per_1000(float(paid["seconds"].sum()), n_paid),
    }


LAYOUT = Layout(
    "Judges: injection rate and cost",
    {},
    (
        *texts("judge"),
        SCORED,
        column("injection rate", "share", "injection_rate", *INTERVAL),
        column("cost, in the currency of the prices", "number", "cost"),
        column("cost of 1,000 verdicts", "number", "cost_per_1000"),
        column("seconds for 1,000 verdicts", "number", "seconds_per_1000"),
    ),
)
