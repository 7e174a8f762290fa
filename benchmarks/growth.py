"""Cost against size on log axes, from the table that a benchmark printed.

`python benchmarks/replay.py | python benchmarks/growth.py docs/figures/replay.svg lines` draws the
CPU-seconds and the megabytes of every row against its second column, one line for each name.
"""

import sys
from collections.abc import Iterable

import altair as alt
import polars as pl


def table(lines: Iterable[str]) -> pl.DataFrame:
    """Return the rows of a printed table: name, size, CPU-seconds and megabytes."""
    rows = [line.replace(",", "").split(" | ") for line in lines if line.count(" | ") >= 3]
    return pl.DataFrame(
        [
            {
                "name": row[0],
                "size": float(row[1]),
                "CPU seconds": float(row[2]),
                "MB": float(row[-1]),
            }
            for row in rows
            if row[1].replace(".", "").strip().isdigit()
        ]
    )


def growth(costs: pl.DataFrame, what: str) -> alt.HConcatChart:
    """Return time and memory against size, on log axes."""
    base = alt.Chart(costs).mark_line(point=True).properties(width=260, height=220)
    size = alt.X("size:Q", scale=alt.Scale(type="log"), title=what)
    panels = [
        base.encode(size, alt.Y(f"{name}:Q", scale=alt.Scale(type="log")), alt.Color("name:N"))
        for name in ("CPU seconds", "MB")
    ]
    return alt.hconcat(*panels)


if __name__ == "__main__":
    growth(table(sys.stdin), sys.argv[2]).save(sys.argv[1])
