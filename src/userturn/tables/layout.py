"""How a table is shown: one declaration for the report, Markdown and LaTeX.

A table `x` is shown if tables/x.py has a `LAYOUT`. The report's page formats values in the browser,
by the kinds of columns (html/assets/report/tables.js); Markdown and LaTeX hold texts, made here.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import polars as pl
from polars import selectors as cs

from userturn.study.cells import ALL, PLAIN
from userturn.workflow.registry import TABLES

LOWEST = "lowest"  # as a wanted value: the lowest value of the column
DASH = "–"  # in Markdown and LaTeX, a number that is null


class Column(NamedTuple):
    """A column that is shown.

    Its kind is one of: text, count, number or p; share or change, with limits if there are three
    columns; share or kappa, a number with its limits and the name of its measure; bounds, two
    shares; points, two limits of a change, in points; interval, a number after its limits; of, a
    number out of another.
    """

    heading: str | None  # in the report; None leaves it out there
    kind: str
    columns: tuple[str, ...]  # the table's columns that it shows
    printed: str | None  # its heading in Markdown and LaTeX; None leaves it out there
    text: pl.Expr | None = None  # its text in Markdown and LaTeX, if not that of its kind


class Layout(NamedTuple):
    """The part of a table that is shown: rows that pass `filters`, and some columns."""

    title: str  # in the report
    # The value that rows must have, or a tuple of several; columns that the table lacks are ignored
    filters: Mapping[str, Any]
    columns: tuple[Column, ...]
    printed: Mapping[str, Any] | None = None  # what Markdown and LaTeX have instead of `filters`
    # A column whose values become columns of Markdown and LaTeX, and these values if they are
    # fixed. The printed column with braces in its heading is shown below each of them.
    spread: tuple[str, ...] = ()
    about: str = ""  # caption of a further part of a table; the first part has that of the table


def column(
    heading: str, kind: str, *columns: str, printed: str | None = "", text: pl.Expr | None = None
) -> Column:
    """Return a column that the report shows, and so do Markdown and LaTeX unless `printed` is None.

    Without `columns` it shows the table's column named `heading`. Without `printed` it has one
    heading everywhere.
    """
    return Column(heading, kind, columns or (heading,), heading if printed == "" else printed, text)


def limited(heading: str, kind: str, name: str) -> Column:
    """Return a column that shows a number with its limits, `name_lower` and `name_upper`."""
    return column(heading, kind, name, f"{name}_lower", f"{name}_upper")


def texts(*names: str) -> tuple[Column, ...]:
    """Return columns of text with their names as headings, and a temperature as it was set."""
    return tuple(
        TEMPERATURE
        if name == "temperature"
        else Column(name.replace("_", " "), "text", (name,), name)
        for name in names
    )


def reported(*columns: Column) -> tuple[Column, ...]:
    """Return columns that only the report has."""
    return tuple(column._replace(printed=None) for column in columns)


def printed_only(heading: str, kind: str, *columns: str, text: pl.Expr | None = None) -> Column:
    """Return a column that only Markdown and LaTeX have."""
    return Column(None, kind, columns or (heading,), heading, text)


INTERVAL = ("lower", "upper")
GENUINE = column("genuine", "share", "estimate", *INTERVAL)
SCORED = column("scored", "of", "n_scored", "n_turns")
BOUNDS = column(
    "bounds (unscored all negative / all positive)",
    "bounds",
    "if_unscored_negative",
    "if_unscored_positive",
)
IF_UNSCORED = column(
    "limits, whatever unscored turns are",
    "points",
    "lower_if_unscored",
    "upper_if_unscored",
    printed="if unscored at worst, points",
)
AS_SET = pl.col("temperature").cast(pl.String).fill_null(DASH)
TEMPERATURE = column("temperature", "number", text=AS_SET)
P = (column("p", "p"), column("p, adjusted", "p", "p_adjusted", printed="p (Holm)"))
OVER_DATASETS = {"dataset": ALL, "perturbation": PLAIN}


def layouts() -> dict[str, tuple[Layout, ...]]:
    """Return the parts in which each table is shown, by table in the order of the registry."""
    return {name: parts for name in TABLES if (parts := parts_of(name))}


def parts_of(name: str) -> tuple[Layout, ...]:
    """Return the parts in which a table is shown, from its module's `LAYOUT` of one or several."""
    layouts = getattr(import_module(f"userturn.tables.{name}"), "LAYOUT", ())
    return (layouts,) if isinstance(layouts, Layout) else layouts


def _rows(table: pl.DataFrame, filters: Mapping[str, Any]) -> pl.DataFrame:
    for name, value in filters.items():
        if name in table.columns:
            table = table.filter(_is(pl.col(name), value))
    return table


def _is(column: pl.Expr, value: Any) -> pl.Expr:
    if isinstance(value, tuple):
        return column.is_in(value)
    return column == (column.min() if value == LOWEST else value)


def page_table(layout: Layout, table: pl.DataFrame, judge: str) -> dict[str, Any]:
    """Return a table as the report's page takes it, with the primary judge's rows first.

    The result has `columns`, each a heading and a kind, and `rows`, each with a tuple per column:
    the values of `Column.columns`.
    """
    rows = _rows(table, layout.filters)
    if "judge" in rows.columns:
        rows = rows.sort(pl.col("judge") != judge, maintain_order=True)
    rows = rows.with_columns(pl.when(cs.float().is_finite()).then(cs.float()))
    there = [c for c in layout.columns if c.heading and set(c.columns) <= set(table.columns)]
    values = [rows.select(column.columns).rows() for column in there]
    return {
        "columns": [[column.heading, column.kind] for column in there],
        "rows": [list(row) for row in zip(*values, strict=True)],
    }


def printed(layout: Layout, table: pl.DataFrame) -> pl.DataFrame:
    """Return a table as texts for Markdown and LaTeX, or the reasons why it has no rows."""
    rows = _rows(table, layout.filters if layout.printed is None else layout.printed)
    if rows.is_empty() and "reason" in table.columns and table["reason"].count():
        return table.select(pl.col("reason").drop_nulls())
    columns = {column.printed: _text(column) for column in layout.columns if column.printed}
    return _spread(rows, *layout.spread, shown=columns) if layout.spread else rows.select(**columns)


def _spread(
    rows: pl.DataFrame, by: str, *values: str, shown: Mapping[str, pl.Expr]
) -> pl.DataFrame:
    """Return rows with a column for each of the values of the column `by`."""
    keys = [heading for heading in shown if "{}" not in heading]
    (spread,) = shown.keys() - keys
    formatted = rows.select(pl.format(spread, by).alias(by), **shown)
    table = formatted.pivot(by, index=keys, values=spread)
    headings = [spread.format(value) for value in values] or table.columns[len(keys) :]
    missing = {heading: pl.lit(None, pl.String) for heading in headings if heading not in table}
    return table.with_columns(**missing).select(*keys, pl.col(headings).fill_null(DASH))


def _text(column: Column) -> pl.Expr:
    """Return the text of a column by its kind: numbers with two digits, shares in percent."""
    if column.text is not None:
        return column.text
    if column.kind in KINDS:
        return KINDS[column.kind](*column.columns)
    return pl.col(column.columns[0])


def number(name: str, *limits: str, digits: int = 2, times: float = 1) -> pl.Expr:
    """Return a number (times `times`) as text, with any limits: `12.3 [4.5, 20.1]`."""
    texts = [(pl.col(n) * times).round(digits).cast(pl.String) for n in (name, *limits)]
    if not limits:
        return texts[0].fill_null(DASH)
    with_limits = pl.format("{} [{}, {}]", *texts)
    return pl.when(texts[1].is_null()).then(texts[0]).otherwise(with_limits).fill_null(DASH)


def limits(lower: str, upper: str, digits: int = 2, times: float = 1) -> pl.Expr:
    """Return two limits as text: `[4.5, 20.1]`."""
    both = [(pl.col(name) * times).round(digits) for name in (lower, upper)]
    return pl.format("[{}, {}]", *both).fill_null(DASH)


def percent(*names: str) -> pl.Expr:
    """Return a share or a change as text in percent, with its limits if there are any."""
    return number(*names, digits=1, times=100)


def percent_range(lower: str, upper: str) -> pl.Expr:
    """Return two shares or changes as text in percent: `[4.5, 20.1]`."""
    return limits(lower, upper, digits=1, times=100)


def p_value(name: str) -> pl.Expr:
    """Return a p-value as text with three digits, or `<0.001`."""
    p = pl.col(name)
    text = pl.when(p < 0.001).then(pl.lit("<0.001")).otherwise(p.round(3).cast(pl.String))
    return text.fill_null(DASH)


def _share_or_kappa(*names: str) -> pl.Expr:
    *numbers, measure = names
    is_kappa = pl.col(measure) == "kappa"
    return pl.when(is_kappa).then(number(*numbers)).otherwise(percent(*numbers))


# The texts of Markdown and LaTeX by the kind of a column; text and counts stay as they are.
KINDS: dict[str, Callable[..., pl.Expr]] = {
    "number": number,
    "p": p_value,
    "share": percent,
    "change": percent,
    "share or kappa": _share_or_kappa,
    "bounds": percent_range,
    "points": percent_range,
    "interval": number,
    "of": lambda n, of: pl.format("{} of {}", n, of),
}
