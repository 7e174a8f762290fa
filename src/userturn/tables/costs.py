"""Tables of what judges cost, and of what each judge is worth."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path

import polars as pl

from userturn.judges.budget import read_accounts
from userturn.judges.usage import Price, Spent, money
from userturn.storage.parquet import Schema, write_csv, write_table
from userturn.tables.judges import JUDGES_SCHEMA, describe_judge

COSTS_SCHEMA: Schema = {
    "judge": pl.String,
    "cell": pl.String,
    **{field.name: pl.Float64 if field.name == "seconds" else pl.Int64 for field in fields(Spent)},
    "cost": pl.Float64,
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
