"""Format numbers for the tables of a paper, as texts with their intervals."""

import polars as pl


def percent(estimate: str = "estimate", lower: str = "lower", upper: str = "upper") -> pl.Expr:
    """Return shares as `12.3 [4.5, 20.1]`, in percent; a dash for null."""
    numbers = [(pl.col(name) * 100).round(1) for name in (estimate, lower, upper)]
    interval = (
        pl.when(numbers[1].is_null())
        .then(pl.format("{}", numbers[0]))
        .otherwise(pl.format("{} [{}, {}]", *numbers))
    )
    return interval.fill_null("–")


def percent_range(lower: str, upper: str) -> pl.Expr:
    """Return two limits as `[4.5, 20.1]`, in percent; a dash for null."""
    limits = [(pl.col(name) * 100).round(1) for name in (lower, upper)]
    return pl.format("[{}, {}]", *limits).fill_null("–")


def points(name: str) -> pl.Expr:
    """Return a difference of shares in percentage points; a dash for null."""
    return number_of(pl.col(name) * 100, 1)


def number_of(value: pl.Expr, digits: int) -> pl.Expr:
    """Return numbers with `digits` decimals; a dash for null."""
    return value.round(digits).cast(pl.String).fill_null("–")


def p_value(name: str) -> pl.Expr:
    """Return p-values with three digits, and as <0.001 below."""
    p = pl.col(name)
    text = pl.when(p < 0.001).then(pl.lit("<0.001")).otherwise(p.round(3).cast(pl.String))
    return text.fill_null("–")


def number(name: str, digits: int = 2) -> pl.Expr:
    """Return a column of numbers with `digits` decimals; a dash for null."""
    return number_of(pl.col(name), digits)


def at_lowest_temperature(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table's rows at its lowest temperature."""
    return table.filter(pl.col("temperature") == pl.col("temperature").min())
