"""The figures of the page: static pictures, and the Vega-Lite charts that take their place.

Vega's own bundle compiles its expressions by `eval`, which the page's policy refuses. Vega-Embed,
which is in the bundle, interprets them where it is asked to (`ast`).
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from vl_convert import javascript_bundle

from userturn.html.chart import pdf_of, size_of, smallest_letter, svg_of
from userturn.report.explorer_prompts import write_script
from userturn.storage.files import write_text
from userturn.workflow.registry import FIGURES

WIDTH, HEIGHT = 700, 860  # CSS pixels of a picture on A4 or US Letter, as print.css has them
LEAST_LETTER = 8.0  # CSS pixels, which are 6 points
Chart = dict[str, Any]
Part = dict[str, list[Any]]  # by field, the values whose panels it has
BELOW = "panels"  # instead of a field: numbers of panels that are below each other


class Side(NamedTuple):
    """The rows or columns of panels of a figure: their field, and its values."""

    field: str
    values: list[Any]

    @property
    def most(self) -> int:
        """The largest number of parts that the side can be cut into."""
        return max(1, len(self.values))

    def cut(self, n: int) -> list[Part]:
        """Return at most `n` parts of nearly equal size."""
        size = ceil(self.most / n)
        starts = range(0, len(self.values), size)
        return [{self.field: self.values[i : i + size]} for i in starts] or [{}]


def scale_on_paper(svg: str) -> float:
    """Return the factor by which a picture shrinks on a page, or 1 if the page has room for it."""
    width, height = size_of(svg) or (1.0, 1.0)
    return min(1.0, WIDTH / width, HEIGHT / height)


def is_legible(svg: str) -> bool:
    """Return whether no letter of a picture is smaller than `LEAST_LETTER` on paper."""
    letter = smallest_letter(svg)
    return letter is None or letter * scale_on_paper(svg) >= LEAST_LETTER


def pictures_of(chart: Mapping[str, Any], whole: str) -> tuple[list[Part], list[str]]:
    """Return the fewest parts of a chart that are legible, and a picture of each.

    The chart is in Vega-Lite, in rows and columns of panels or in panels below each other. If its
    whole picture is legible, the result has no parts and only that picture. If even a single panel
    is not legible, each panel is a part.
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
    """Yield the numbers of parts to cut both sides into, beginning with the fewest that may fit."""
    width, height = size_of(whole) or (1.0, 1.0)
    shrunk = LEAST_LETTER / (smallest_letter(whole) or LEAST_LETTER)
    least = ceil(height * shrunk / HEIGHT), ceil(width * shrunk / WIDTH)
    numbers = product(
        range(min(least[0], down.most), down.most + 1),
        range(min(least[1], across.most), across.most + 1),
    )
    return iter(sorted(numbers, key=lambda n: (n[0] * n[1], n)))


def _sides(chart: Mapping[str, Any]) -> tuple[Side, Side]:
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
    position = {value: i for i, value in enumerate(order)}
    return Side(field, sorted(values, key=lambda value: (position.get(value, len(order)), value)))


def part_of(chart: Mapping[str, Any], part: Part) -> Chart:
    """Return a part of a chart, as Vega-Lite."""
    if BELOW in part:
        return {**chart, "vconcat": [chart["vconcat"][i] for i in part[BELOW]]}
    selected = {
        name: [r for r in rows if all(r.get(f) in (None, *values) for f, values in part.items())]
        for name, rows in chart["datasets"].items()
    }
    return {**chart, "datasets": selected}


NOTICE = "/* Vega, Vega-Lite, Vega-Embed: BSD-3-Clause, github.com/vega; D3: ISC, github.com/d3 */"
TAKE = 'userturn.take("charts", (place, chart, options) => vegaEmbed(place, chart, options));'


def picture(name: str, parts: Sequence[str], captions: Mapping[str, str], pdf: bytes = b"") -> str:
    """Return a static figure as HTML, whole or in parts that fit on a page of paper.

    It contains its PDF, which the page can save.
    """
    words, caption = escape(name.replace("_", " ")), escape(captions.get(name, ""))
    images = []
    for number, svg in enumerate(parts, 1):
        which = f" (part {number} of {len(parts)})" if len(parts) > 1 else ""
        images.append(_image(svg, f"{caption or words}{which}"))
    kind = ' class="parts"' if len(parts) > 1 else ""
    file = f"figures/{escape(name)}.svg"
    return (
        f'<figure id="figure-{escape(name)}"{kind} data-pdf="{_base64(pdf)}">'
        f'<div class="scroll picture" tabindex="0" role="region" aria-label="{words}">'
        f"{''.join(images)}</div>"
        f'<figcaption><span>{caption}</span> <a href="../{file}"><code>results/{file}</code></a>'
        "</figcaption></figure>"
    )


def _image(svg: str, alt: str) -> str:
    """Return a picture as HTML, with its size, so that the layout does not jump."""
    extent = size_of(svg)
    size = f' width="{round(extent[0])}" height="{round(extent[1])}"' if extent else ""
    source = f"data:image/svg+xml;base64,{_base64(svg.encode())}"
    return f'<img src="{source}" alt="{alt}"{size} decoding="async">'


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def write_charts(
    paths_to_figures: Sequence[str], captions: Mapping[str, str], folder: Path
) -> tuple[dict[str, Any], list[str]]:
    """Write each figure's chart as a data file, and the library that draws charts once.

    Vega-Lite files are beside the SVG files. The result has two parts. The first has `charts`, the
    figures' names; `titles` by name; `parts` by name, of the figures that are cut; `emptyFigures`,
    the names of those without data; and `drawnFrom`, the rule and tables of each. The second has
    the static figures as HTML.
    """
    titles, cut, empty, pictures = {}, {}, [], []
    for path in map(Path, paths_to_figures):
        name, chart = path.stem, json.loads(path.with_suffix(".vl.json").read_text("utf-8"))
        write_script(folder, f"figure-{name}", chart)
        titles[name] = title_of(chart)
        parts, shown = pictures_of(chart, path.read_text("utf-8"))
        pictures.append(picture(name, shown, captions, pdf_of(chart)))
        if parts:
            cut[name] = parts
        if has_no_data(chart):
            empty.append(name)
    if titles:
        write_text(library(), folder / "charts.js")
    sources = {
        name: {"rule": FIGURES[name].rule, "tables": FIGURES[name].tables}
        for name in titles
        if name in FIGURES
    }
    contents = {"charts": list(titles), "titles": titles, "parts": cut, "emptyFigures": empty}
    return contents | {"drawnFrom": sources}, pictures


def has_no_data(chart: Mapping[str, Any]) -> bool:
    """Return whether a figure in Vega-Lite is only a sentence by each judge (`theme.note`)."""
    charts = [chart, *chart.get("usermeta", {}).get("judges", {}).values()]
    rows = [row for c in charts for table in c.get("datasets", {}).values() for row in table]
    return all("note" in row for row in rows)


def title_of(chart: Mapping[str, Any]) -> str:
    """Return the title of a figure in Vega-Lite."""
    title = chart["title"]
    return str(title if isinstance(title, str) else title["text"])


@cache
def library() -> str:
    """Return the script that draws charts, which takes a second to bundle."""
    return f"{NOTICE}\n(() => {{\n{javascript_bundle(TAKE)}\n}})();\n"
