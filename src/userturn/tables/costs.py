"""Table `costs`: requests, tokens and money of each judge and cell."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import polars as pl

from userturn.endpoints.budget import AccountOnDisk, cost_of, read_accounts
from userturn.endpoints.usage import Price, Spent
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL
from userturn.tables.layout import Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate_costs",
    place=310,
    row="a judge and cell, or dataset whose cells shared batches; or a judge over `all`",
    made_of=("made_by_sources",),  # made after every reply that is paid for
    settings=("prices",),
    version=3,
)
SCHEMA: Schema = {
    "judge": pl.String,
    "cell": pl.String,
    **{field.name: pl.Float64 if field.name == "seconds" else pl.Int64 for field in fields(Spent)},
    **dict.fromkeys(("cost", "cost_per_1000", "seconds_per_1000"), pl.Float64),
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return costs(material.grid.accounts_folder, material.grid.prices)


def costs(folder: Path, prices: Mapping[str, Price]) -> pl.DataFrame:
    """Return one row per judge and cell, and one per judge over all, with cost and time.

    Costs are over all processes. They are null without a price, and where an account is damaged. A
    damaged account has a row of its own, and so has one that a user corrected. A judge that was
    removed from the config is charged at the last price in its account.
    """
    of: dict[tuple[str, str], list[AccountOnDisk]] = {}
    price_of = dict(prices)
    for account in read_accounts(folder):
        for key in ((account.judge, ALL), (account.judge, account.cell)):
            of.setdefault(key, []).append(account)
        if account.price is not None:
            price_of.setdefault(account.judge, account.price)
    order = sorted(of, key=lambda key: (key[0], key[1] != ALL, key[1]))
    return pl.DataFrame([_row(*key, of[key], price_of) for key in order], schema=SCHEMA)


def _row(
    judge: str, cell: str, accounts: Sequence[AccountOnDisk], prices: Mapping[str, Price]
) -> dict[str, Any]:
    spent = sum((account.total for account in accounts), start=Spent())
    cost = cost_of(accounts, prices)
    return {
        "judge": judge,
        "cell": cell,
        **asdict(spent),
        "cost": cost,
        "cost_per_1000": _per_1000(cost, spent.n_verdicts),
        "seconds_per_1000": _per_1000(spent.seconds, spent.n_verdicts),
    }


def _per_1000(total: float | None, n: int) -> float | None:
    return None if total is None or n == 0 else 1000 * total / n


LAYOUT = Layout(
    "Judges: cost and time",
    {"cell": ALL},
    (
        *texts("judge"),
        column("requests", "count", "n_requests"),
        column("verdicts", "count", "n_verdicts"),
        column("cost, in the currency of the prices", "number", "cost"),
        column("cost of 1,000 verdicts", "number", "cost_per_1000"),
        column("seconds for 1,000 verdicts", "number", "seconds_per_1000"),
    ),
)
