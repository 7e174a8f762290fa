"""What a reader sees on a mark: names, the estimate with its interval, and its denominator."""

from collections.abc import Sequence

import altair as alt
import polars as pl

INTERVAL = ("estimate", "lower", "upper")


def in_percent(columns: Sequence[str] = INTERVAL, unit: str = "%") -> pl.Expr:
    """Return an estimate with its 95% interval as text: `31.2% [20.1, 44.0]`; null without one."""
    shares = [(100 * pl.col(name)).round(1) for name in columns]
    return _with_minus(pl.format("{}" + unit + " [{}, {}]", *shares))


def with_limits(columns: Sequence[str] = INTERVAL) -> pl.Expr:
    """Return an estimate with its 95% interval as text: `0.312 [0.201, 0.44]`; null without one."""
    return _with_minus(pl.format("{} [{}, {}]", *(pl.col(name).round(3) for name in columns)))


def _with_minus(text: pl.Expr) -> pl.Expr:
    """Return numbers with the minus sign of the axes, which is no hyphen."""
    return text.str.replace_all("-", "−", literal=True)


def out_of(some: str, every: str, unit: str) -> pl.Expr:
    """Return a denominator as text: `77 of 80 turns`."""
    return pl.format("{} of {} " + unit, pl.col(some), pl.col(every))


def hover(*columns: str) -> list[alt.Tooltip]:
    """Return the encoding of what is shown on a mark: columns under their names as words."""
    return [alt.Tooltip(f"{name}:N", title=name.replace("_", " ")) for name in columns]
