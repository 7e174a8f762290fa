"""Put a table of the study into the form of the report's page."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import polars as pl
from polars import selectors as cs

from userturn.tables.report_layout import LOWEST, Shown
from userturn.workflow.registry import TABLES


def shown_tables() -> dict[str, Shown]:
    """Return the part of each table that the report shows, in the order of the registry."""
    found = {name: import_module(f"userturn.tables.{name}") for name in TABLES}
    shown = {name: getattr(module, "REPORTED", None) for name, module in found.items()}
    return {name: layout for name, layout in shown.items() if layout is not None}


def rows_of(table: pl.DataFrame, wanted: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows whose columns have the wanted values; missing columns are ignored."""
    for name, value in wanted.items():
        if name in table.columns:
            column = pl.col(name)
            table = table.filter(column == (column.min() if value == LOWEST else value))
    return table


def shown_table(name: str, table: pl.DataFrame, judge: str) -> dict[str, Any]:
    """Return a table in the page's form, the primary judge's rows first.

    Returns:
        `columns`: heading and kind; `rows`: the values of each column, three where it has limits.
    """
    shown = shown_tables()[name]
    rows = rows_of(table, shown.wanted)
    if "judge" in rows.columns:
        rows = rows.sort(pl.col("judge") != judge, maintain_order=True)
    rows = rows.with_columns(pl.when(cs.float().is_finite()).then(cs.float()))
    columns = [column for column in shown.columns if set(column.columns) <= set(table.columns)]
    values = [rows.select(column.columns).rows() for column in columns]
    return {
        "columns": [[column.heading, column.kind] for column in columns],
        "rows": [list(row) for row in zip(*values, strict=True)],
    }
