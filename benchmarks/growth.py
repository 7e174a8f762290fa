"""How cost grows with size: the table that a benchmark prints, as exponents and on log axes.

`python benchmarks/replay.py | python benchmarks/growth.py docs/figures/replay.svg lines` prints the
table again and the power of its second column that CPU-seconds and megabytes of each name grow by,
and draws both. The third column are CPU-seconds, the last one megabytes.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import altair as alt
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measuring import exponent

COSTS = ("CPU seconds", "MB")


def table(lines: Iterable[str]) -> pl.DataFrame:
    """Return the rows of a printed table whose names have several sizes."""
    cells = [line.split(" | ") for line in lines if line.count(" | ") >= 3]
    rows = [(row[0], row[1].replace(",", ""), row[2], row[-1]) for row in cells]
    costs = pl.DataFrame(
        [(name, *map(float, numbers)) for name, *numbers in rows if numbers[0].isdigit()],
        schema={"name": pl.String, "size": pl.Float64, **dict.fromkeys(COSTS, pl.Float64)},
        orient="row",
    )
    return costs.filter(pl.col("size").n_unique().over("name") > 1)


def exponents(costs: pl.DataFrame) -> Iterator[tuple[str, float, float]]:
    """Yield for every name the power of size that its time and its memory grow by."""
    for (name,), rows in costs.group_by("name", maintain_order=True):
        cpu, memory = (exponent(rows["size"], rows[cost]) for cost in COSTS)
        yield str(name), cpu, memory


def growth(costs: pl.DataFrame, what: str) -> alt.HConcatChart:
    """Return time and memory against size, on log axes."""
    base = alt.Chart(costs).mark_line(point=True).properties(width=260, height=220)
    log = alt.Scale(type="log")
    axis = alt.Axis(format="~s", labelOverlap="greedy", labelSeparation=8)
    size = alt.X("size:Q", scale=log, title=what, axis=axis)
    legend = alt.Legend(orient="bottom", columns=1, labelLimit=300)
    name = alt.Color("name:N", title=None, legend=legend, sort=None)
    panels = [base.encode(size, alt.Y(f"{cost}:Q", scale=log), name) for cost in COSTS]
    return alt.hconcat(*panels)


def main(path: str, what: str) -> None:
    """Print what comes in and its exponents, and draw it."""
    lines = sys.stdin.read().splitlines()
    print("\n".join(lines))
    costs = table(lines)
    for name, cpu, memory in exponents(costs):
        print(f"{name}: CPU grows as {what} to the {cpu:.2f}, memory to the {memory:.2f}")
    growth(costs, what).save(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
