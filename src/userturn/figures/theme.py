"""What all figures share: the look, rows, axes, what a mark tells, and how they are saved."""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from userturn.html.chart import png_of, svg_of
from userturn.storage.files import artifact, written_whole
from userturn.study.cells import PLAIN
from userturn.wording import LABELS

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
# Names of labels and perturbations, as in the page.
IN_WORDS = "join(split(datum.label, '_'), ' ')"
AS_NAME = f"upper(slice({IN_WORDS}, 0, 1)) + slice({IN_WORDS}, 1)"
LABEL_IN_WORDS = f"({json.dumps(LABELS, sort_keys=True)}[datum.label] || {AS_NAME})"
# A figure has rows of every cell: 5,940 with the shipped grid, where Altair stops at 5,000.
alt.data_transformers.enable("default", max_rows=None)
PIXELS = 2  # pixels of the PNG for each pixel on the screen
ALL_DATASETS = "all datasets"
NOTHING = "no turn was scored"
SPACED = 26  # pixels between panels whose first and last labels would touch
SHIFT = 0.06  # of a turn or depth, between marks beside each other
MARGIN = 0.06  # of temperature, before the first and after the last mark
SMALL = 3  # with more models than this, panels are small
PANEL, OF_MODEL = 160, 12  # pixels of a panel, and at least of a model in it
ACROSS, LEAST = 660, 84  # pixels of panels beside each other, and at least of one
BY_DATASET = alt.Column("dataset:N", title=None)
LEVEL: dict[str, Any] = {"labelAngle": 0, "labelAlign": "left", "labelBaseline": "middle"}
INTERVAL = ("estimate", "lower", "upper")


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


def warned(chart: Any, warning: str | None) -> Any:
    """Return a chart with a warning, if there is one, under its title."""
    if warning is not None and isinstance(chart.title, alt.TitleParams):
        told = chart.title.subtitle
        lines = [told] if isinstance(told, str) else told
        chart.title.subtitle = [*textwrap.wrap(warning, SUBTITLE), *lines]
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
    """Return the families of a table's models, in the order of the table of families."""
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


def plain_cells(table: pl.DataFrame) -> pl.DataFrame:
    """Return the unperturbed rows at the lowest temperature."""
    lowest = pl.col("temperature") == pl.col("temperature").min()
    return table.filter(lowest, pl.col("perturbation") == PLAIN)


def preset(chart: Any, **values: Any) -> Any:
    """Return a chart that shows the rows with some values, which its reader may change.

    Each value is a parameter of the chart, named like the column. Rows without a value always show.
    """
    for name in values:
        chart = chart.transform_filter(f"datum.{name} === null || datum.{name} === {name}")
    chart.params = [alt.param(name=name, value=value).param for name, value in values.items()]
    return chart


def temperature_row(rates: pl.DataFrame) -> str:
    """Return the lowest temperature as part of a sentence."""
    return "".join(f", temperature {t:g}" for t in rates["temperature"].unique().sort()[:1])


def is_ordered(table: pl.DataFrame) -> bool:
    """Return whether several models have an order: all sizes are known, and no two are equal."""
    sizes = table.select("model", "size").unique()["size"]
    return sizes.len() > 1 and sizes.null_count() == 0 and sizes.is_unique().all()


def panel_width(n: int, widest: int = PANEL) -> int:
    """Return the width of each of `n` panels side by side, so that they fit on a page of paper."""
    return max(LEAST, min(widest, ACROSS // n))


def size_axis(table: pl.DataFrame, families: pl.DataFrame, width: int = PANEL) -> tuple[alt.X, int]:
    """Return the axis of models and its width: by size, with a tick at each, or by name."""
    if not is_ordered(table):
        names = models_in(families, table)
        x = alt.X("model:N", title=None, sort=names, axis=alt.Axis(labelAngle=-90))
        return x, max(width, OF_MODEL * len(names))
    sizes = table["size"].unique().sort().to_list()
    axis = alt.Axis(format="~g", values=sizes, labelOverlap="greedy", grid=False)
    x = alt.X("size:Q", title="parameters, billions", axis=axis)
    return x.scale(type="log", nice=False, padding=12), width


def limits_across(base: Any, told: Any, x: Any, width: float = 1.6, size: int = 40) -> list[Any]:
    """Return marks of intervals and of estimates `x` along the x axis, told apart by shape."""
    bars = base.mark_rule(strokeWidth=width).encode(x="lower:Q", x2="upper:Q")
    points = base.mark_point(filled=True, size=size, opacity=1)
    return [bars, points.encode(x=x, shape=told["shape"])]


def limits_upright(
    base: Any, told: Any, shown: Any, width: float, size: int, y: Any = "estimate:Q"
) -> list[Any]:
    """Return marks of intervals and of estimates `y` along the y axis, with the tooltip `shown`."""
    bars = base.mark_rule(strokeWidth=width).encode(y="lower:Q", y2="upper:Q", tooltip=shown)
    points = base.mark_point(filled=True, size=size, opacity=1)
    return [bars, points.encode(y=y, shape=told["shape"], tooltip=shown)]


def lines_with_limits(base: Any, told: Any, shown: Any) -> Any:
    """Return lines through rates, their limits and points, over the x axis of a chart.

    `told` says how lines are told apart (`told_apart`), `shown` what a mark tells when pointed at.
    """
    y = alt.Y("estimate:Q", title=None).axis(format="%", tickCount=3)
    lines = base.mark_line(strokeWidth=1.2, invalid="filter").encode(y=y, strokeDash=told["dash"])
    return alt.layer(lines, *limits_upright(base, told, shown, 1.2, 30))


def row_a_model(chart: Any, models: list[str], columns: Any = BY_DATASET) -> Any:
    """Return a chart repeated in a row per model, and in a column per value of `columns`."""
    rows = alt.Row("model:N", title=None, sort=models, header=alt.Header(**LEVEL))
    return chart.facet(row=rows, column=columns)


def row_a_measure(table: pl.DataFrame, measures: Mapping[str, str], *columns: Any) -> pl.DataFrame:
    """Return some columns of a table once for each measure that it has, with its limits.

    `measures` has the name of each measure in the figure by its column `x`. Its limits are
    `x_lower` and `x_upper`, or for `estimate` `lower` and `upper`.
    """
    parts = []
    for name, title in measures.items():
        if name in table.columns:
            of = "" if name == "estimate" else f"{name}_"
            limits = {"lower": f"{of}lower", "upper": f"{of}upper"}
            parts.append(table.select(*columns, measure=pl.lit(title), estimate=name, **limits))
    return pl.concat(parts)


def temperature_axis(table: pl.DataFrame) -> alt.X:
    """Return the axis of temperatures, whose marks are at `place`.

    Marks of a single temperature stay close together. An axis of their own range would put them at
    its two ends, as if they were of two temperatures.
    """
    temperatures = table["temperature"].unique().sort().to_list()
    places = table["place"].to_list()
    margin = MARGIN * max(1.0, *temperatures)
    x = alt.X("place:Q", title="temperature")
    x = x.axis(values=temperatures, format="~g", grid=False, labelOverlap=True)
    return x.scale(domain=[min(places) - margin, max(places) + margin], nice=False)


def count_axis(table: pl.DataFrame, name: str) -> alt.X:
    """Return the axis of turns or depths, whose marks are at `place`."""
    numbers = table[name].unique().sort().to_list()
    x = alt.X("place:Q", title=name).axis(values=numbers, format="d", grid=False)
    return x.scale(domain=[min(numbers) - 0.3, max(numbers) + 0.5], nice=False)


def percent_text(columns: Sequence[str] = INTERVAL, unit: str = "%") -> pl.Expr:
    """Return an estimate with its interval as text: `31.2% [20.1, 44.0]`, or null without one."""
    shares = [fixed(100 * pl.col(name), 1) for name in columns]
    return _minus_signs(pl.format("{}" + unit + " [{}, {}]", *shares))


def interval_text() -> pl.Expr:
    """Return an estimate with its interval as text: `0.312 [0.201, 0.440]`, or null without one."""
    return _minus_signs(pl.format("{} [{}, {}]", *(fixed(pl.col(name), 3) for name in INTERVAL)))


def fixed(number: pl.Expr, digits: int) -> pl.Expr:
    """Return numbers as text with some digits after the point, as Python's `format` writes them.

    Commands and the report's page round in the same way: a tie goes to the even digit. `round` of
    Polars scales first, which makes a tie of a number such as 28.95 that is slightly less. Zero has
    no minus.
    """
    return number.map_elements(lambda x: f"{x:z.{digits}f}", return_dtype=pl.String)


def p_value(p: pl.Expr) -> pl.Expr:
    """Return p-values as text, as the page's tables have them: `0.040`, or `<0.001`."""
    return pl.when(p < 0.001).then(pl.lit("<0.001")).otherwise(fixed(p, 3))


def _minus_signs(text: pl.Expr) -> pl.Expr:
    return text.str.replace_all("-", "−", literal=True)


def out_of(some: str, every: str, unit: str) -> pl.Expr:
    """Return a number and its denominator as text: `77 of 80 turns`."""
    return pl.format("{} of {} " + unit, pl.col(some), pl.col(every))


def hover(*columns: str) -> list[alt.Tooltip]:
    """Return the tooltip of a mark: columns with their names as words."""
    return [alt.Tooltip(f"{name}:N", title=name.replace("_", " ")) for name in columns]
