"""The one look of all figures, and how they are saved."""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from userturn.html.chart import png_of, svg_of
from userturn.storage.atomic_files import artifact, written_whole
from userturn.study.cells import PLAIN

# Okabe and Ito (2008), whose colours all kinds of colour vision keep apart, darkened until each has
# a contrast of at least 4.5 on white.
COLOURS = ["#0072B2", "#B85000", "#007A59", "#A8527F", "#8A6000", "#3A7CA5", "#000000", "#6B6B6B"]
# For grey print: what has a colour has a shape too.
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke"]
INK, PALE = "#222222", "#E5E5E5"
PALE_TO_BLUE = ["#F3F7FB", "#6FB2DC"]  # ink keeps a contrast of at least 6.5 on all of them
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"
SUBTITLE = 90  # characters of a subtitle's line
LEGEND, LETTER, SYMBOL = 620, 7, 30  # pixels: of a legend's line, a letter, a symbol and its gaps
IN_WORDS = "join(split(datum.label, '_'), ' ')"  # names of labels and perturbations, as in the page
# A figure has rows of every cell: 5,940 with the shipped grid, where Altair stops at 5,000.
alt.data_transformers.enable("default", max_rows=None)
PIXELS = 2  # pixels of the PNG for each pixel on the screen


@alt.theme.register("userturn", enable=True)
def theme() -> Any:
    """Return the common look of all figures."""
    text = {"labelFontSize": 11, "titleFontSize": 12, "labelColor": INK, "titleColor": INK}
    axis = text | {"titleFontWeight": "normal", "gridColor": PALE, "domainColor": INK}
    title = {"fontSize": 13, "subtitleFontSize": 11, "color": INK, "subtitleColor": INK}
    return {
        "config": {
            "background": "white",
            "font": FONT,
            "padding": 8,
            "view": {"stroke": None},
            "axis": axis | {"labelLimit": 240, "labelSeparation": 5},
            "facet": {"spacing": 14},
            "header": text | {"titleFontWeight": "bold", "labelFontWeight": "bold"},
            "legend": text | {"orient": "bottom", "titleFontWeight": "normal", "labelLimit": 300},
            "range": {"category": COLOURS, "symbol": SHAPES},
            "title": title | {"anchor": "start", "offset": 12, "subtitlePadding": 4},
        }
    }


def titled(text: str, judge: str, more: str = "") -> Any:
    """Return a title with the name of the judge in its subtitle."""
    return alt.Title(text, subtitle=f"judge: {judge}{more}")


def warned(chart: Any, said: str | None) -> Any:
    """Return a chart with a warning, if any, under its title."""
    if said is not None and isinstance(chart.title, alt.TitleParams):
        told = chart.title.subtitle
        lines = [told] if isinstance(told, str) else told
        chart.title.subtitle = [*textwrap.wrap(said, SUBTITLE), *lines]
    return chart


def note(title: str, text: str) -> Any:
    """Draw one sentence under the title of a figure that would be empty."""
    chart = alt.Chart(pl.DataFrame({"note": [text]}), title=title)
    return chart.mark_text(fontSize=14).encode(text="note:N")


def models_in(families: pl.DataFrame, table: pl.DataFrame) -> list[str]:
    """Return the models of a table, by family and size."""
    seen = set(table["model"])
    return [model for model in families["model"] if model in seen]


def families_in(families: pl.DataFrame, table: pl.DataFrame) -> list[str]:
    """Return the families of a table's models, in the order of families."""
    seen = families.filter(pl.col("model").is_in(table["model"].unique().to_list()))
    return seen["family"].unique(maintain_order=True).to_list()


def told_apart(field: str, names: Sequence[str | float]) -> dict[str, Any]:
    """Return encodings of one field by colour, shape and dashes, with one legend."""
    longest = max((len(str(name)) for name in names), default=0)
    fitting = max(1, LEGEND // (SYMBOL + LETTER * longest))
    legend = alt.Legend(labelExpr=IN_WORDS)
    if len(names) > fitting:
        legend.columns = fitting
    return {
        # Legends with equal domains are merged; those with only equal orders are not.
        "color": alt.Color(f"{field}:N", legend=legend).scale(domain=list(names)),
        "shape": alt.Shape(f"{field}:N", legend=legend).scale(domain=list(names)),
        # Not quite the domain of the colours, or their legends merge, with dashes around symbols.
        "dash": alt.StrokeDash(f"{field}:N", legend=None).scale(domain=[*names, ""]),
    }


def conditions_in(table: pl.DataFrame, field: str) -> list[str]:
    """Return the perturbations of a table, the plain one first."""
    return sorted(table[field].unique().to_list(), key=lambda name: (name != PLAIN, name))


def save(
    chart: Any, identity: str, paths: Iterable[str], others: Mapping[str, Any] | None = None
) -> None:
    """Write a chart in the format that each path ends in.

    Vega-Lite JSON has the identity, and the charts of other judges under `judges`.
    """
    judges = {judge: other.to_dict() for judge, other in (others or {}).items()}
    chart = chart.properties(usermeta={"artifact": artifact(identity), "judges": judges})
    spec = chart.to_dict()
    for path in map(Path, paths):
        with written_whole(path) as temporary:
            if path.suffix == ".json":
                temporary.write_text(json.dumps(spec, indent=2, sort_keys=True), "utf-8")
            elif path.suffix == ".svg":
                temporary.write_text(svg_of(spec), "utf-8")
            else:
                temporary.write_bytes(png_of(spec, PIXELS))
