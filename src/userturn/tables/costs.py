"""Tables of what judges cost, and of what each judge is worth."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import polars as pl

from userturn.controls.injections import PREFIX
from userturn.judges.budget import read_accounts
from userturn.judges.usage import Price, Spent, money
from userturn.stats.proportions import wilson
from userturn.storage.parquet import Schema, write_csv, write_table

COSTS_SCHEMA: Schema = {
    "judge": pl.String,
    "cell": pl.String,
    **{field.name: pl.Float64 if field.name == "seconds" else pl.Int64 for field in fields(Spent)},
    "cost": pl.Float64,
}
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


def costs(folder: Path, prices: Mapping[str, Price]) -> pl.DataFrame:
    """Return what every judge cost for every cell, over all processes; no cost without a price."""
    sums: dict[tuple[str, str], Spent] = {}
    for account in read_accounts(folder):
        key = (account.judge, account.cell)
        sums[key] = sums.get(key, Spent()) + account.total
    rows = [
        {
            "judge": judge,
            "cell": cell,
            **asdict(spent),
            "cost": money(spent, prices[judge]) if judge in prices else None,
        }
        for (judge, cell), spent in sorted(sums.items())
    ]
    return pl.DataFrame(rows, schema=COSTS_SCHEMA)


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
        pl.col("dataset") == "all",
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


def tabulate_costs(
    prices: Mapping[str, Price],
    identity: str,
    path_to_rates: str,
    path_to_controls: str,
    folder_of_accounts: Path,
    path_to_costs: str,
    path_to_judges: str,
    path_to_judges_csv: str,
) -> None:
    """Write what every judge cost for every cell, and a row on every judge of the study."""
    spent = costs(folder_of_accounts, prices)
    rates, controls = pl.read_parquet(path_to_rates), pl.read_parquet(path_to_controls)
    names = rates["judge"].unique().sort().to_list()
    rows = [describe_judge(name, rates, controls, spent) for name in names]
    judges = pl.DataFrame(rows, schema=JUDGES_SCHEMA)
    write_table(spent, path_to_costs, identity)
    write_table(judges, path_to_judges, identity)
    write_csv(judges, path_to_judges_csv)
