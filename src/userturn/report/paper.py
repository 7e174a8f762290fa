"""Figures on paper: whole, or in parts where the letters of the whole one would be too small.

A part has some rows or columns of a figure's panels with all headings, axes and the legend. Its
scales are its own where the figure does not fix them.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from math import ceil
from typing import Any, NamedTuple

from userturn.html.chart import svg_of
from userturn.html.svg import size_of, smallest_letter

WIDTH, HEIGHT = 700, 860  # CSS pixels of a picture on A4 or US Letter, as print.css has them
LEAST_LETTER = 8.0  # CSS pixels, which are 6 points
Chart = dict[str, Any]
Part = dict[str, list[Any]]  # by field, the values whose panels it has
BELOW = "panels"  # instead of a field: numbers of panels that are below each other


class Side(NamedTuple):
    """The rows or columns of panels of a figure: the field that they are of, and its values."""

    field: str
    values: list[Any]

    @property
    def most(self) -> int:
        """Return the largest number of parts."""
        return max(1, len(self.values))

    def cut(self, n: int) -> list[Part]:
        """Return `n` parts, or fewer, of nearly equal size."""
        size = ceil(self.most / n)
        starts = range(0, len(self.values), size)
        return [{self.field: self.values[i : i + size]} for i in starts] or [{}]


def scale_on_paper(svg: str) -> float:
    """Return by how much a picture shrinks on a page; 1 if it is not larger than the page."""
    width, height = size_of(svg) or (1.0, 1.0)
    return min(1.0, WIDTH / width, HEIGHT / height)


def is_legible(svg: str) -> bool:
    """Return whether no letter of a picture is smaller than `LEAST_LETTER` on paper."""
    letter = smallest_letter(svg)
    return letter is None or letter * scale_on_paper(svg) >= LEAST_LETTER


def pictures_of(chart: Mapping[str, Any], whole: str) -> tuple[list[Part], list[str]]:
    """Return the fewest parts of a chart that are legible, and a picture of each.

    If the whole chart is legible, there is no part and its picture alone. Where even a single panel
    is not, each panel is a part.

    Args:
        chart: as Vega-Lite, in rows and columns of panels or in panels below each other.
        whole: its picture.
    """
    down, across = _sides(chart)
    parts: list[Part] = []
    pictures = [whole]
    if is_legible(whole) or down.most * across.most == 1:
        return parts, pictures
    for n in _numbers(down, across, whole):
        parts = [a | b for a, b in product(down.cut(n[0]), across.cut(n[1]))]
        pictures = [svg_of(part_of(chart, part)) for part in parts]
        if all(map(is_legible, pictures)):
            break
    return parts, pictures


def _numbers(down: Side, across: Side, whole: str) -> Iterator[tuple[int, int]]:
    """Yield in how many parts to cut both sides, the fewest first that may fit."""
    width, height = size_of(whole) or (1.0, 1.0)
    shrunk = LEAST_LETTER / (smallest_letter(whole) or LEAST_LETTER)
    least = ceil(height * shrunk / HEIGHT), ceil(width * shrunk / WIDTH)
    numbers = product(
        range(min(least[0], down.most), down.most + 1),
        range(min(least[1], across.most), across.most + 1),
    )
    return iter(sorted(numbers, key=lambda n: (n[0] * n[1], n)))


def _sides(chart: Mapping[str, Any]) -> tuple[Side, Side]:
    """Return rows and columns of a chart's panels."""
    if "vconcat" in chart:
        return Side(BELOW, list(range(len(chart["vconcat"])))), Side("", [])
    facet = chart.get("facet", {})
    rows = [row for table in chart.get("datasets", {}).values() for row in table]
    down, across = (_side(facet.get(name), rows) for name in ("row", "column"))
    return down, across


def _side(facet: Mapping[str, Any] | None, rows: list[dict[str, Any]]) -> Side:
    if facet is None:
        return Side("", [])
    field, order = facet["field"], facet.get("sort") or []
    values = {row[field] for row in rows if row.get(field) is not None}
    place = {value: i for i, value in enumerate(order)}
    return Side(field, sorted(values, key=lambda value: (place.get(value, len(order)), value)))


def part_of(chart: Mapping[str, Any], part: Part) -> Chart:
    """Return a part of a chart, as Vega-Lite."""
    if BELOW in part:
        return {**chart, "vconcat": [chart["vconcat"][i] for i in part[BELOW]]}
    kept = {
        name: [r for r in rows if all(r.get(f) in (None, *values) for f, values in part.items())]
        for name, rows in chart["datasets"].items()
    }
    return {**chart, "datasets": kept}
