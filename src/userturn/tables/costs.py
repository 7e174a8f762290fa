"""Table `costs`: requests, tokens and money of each judge and cell."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path

import polars as pl

from userturn.endpoints.account_files import read_accounts
from userturn.endpoints.usage import Price, Spent, money
from userturn.storage.parquet import Schema
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_costs",
    place=310,
    row="a judge and cell, or dataset whose cells shared batches",
    made_of=("made_by_sources",),  # after every reply that costs something
    settings=("prices",),
    formats=(".parquet",),
)
SCHEMA: Schema = {
    "judge": pl.String,
    "cell": pl.String,
    **{field.name: pl.Float64 if field.name == "seconds" else pl.Int64 for field in fields(Spent)},
    "cost": pl.Float64,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return costs(material.grid.accounts_folder, material.grid.prices)


def costs(folder: Path, prices: Mapping[str, Price]) -> pl.DataFrame:
    """Return one row per judge and cell with its cost over all processes; null without a price.

    A judge that was removed from the config is charged at the last price in its account.
    """
    sums: dict[tuple[str, str], Spent] = {}
    known = dict(prices)
    for account in read_accounts(folder):
        key = (account.judge, account.cell)
        sums[key] = sums.get(key, Spent()) + account.total
        if account.price is not None:
            known.setdefault(account.judge, account.price)
    rows = [
        {
            "judge": judge,
            "cell": cell,
            **asdict(spent),
            "cost": money(spent, known[judge]) if judge in known else None,
        }
        for (judge, cell), spent in sorted(sums.items())
    ]
    return pl.DataFrame(rows, schema=SCHEMA)
