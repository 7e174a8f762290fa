"""Figures in altair: one theme, an interval on every estimate, colours safe for all eyes.

Each figure is written as Vega-Lite JSON (for tests and the report), SVG and PNG.
"""

from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from userturn.tables import written_whole

# Okabe and Ito (2008): colours that all kinds of colour vision keep apart.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999"]
INK, PALE = "#222222", "#E5E5E5"
FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"
PIXELS = 2  # of the PNG for one of the screen


@alt.theme.register("userturn", enable=True)
def theme() -> Any:
    """Return the one look of all figures."""
    text = {"labelFontSize": 11, "titleFontSize": 12, "labelColor": INK, "titleColor": INK}
    axis = text | {"titleFontWeight": "normal", "gridColor": PALE, "domainColor": INK}
    return {
        "config": {
            "background": "white",
            "font": FONT,
            "view": {"stroke": None},
            "axis": axis | {"labelLimit": 240},
            "header": text | {"titleFontWeight": "bold", "labelFontWeight": "bold"},
            "legend": text | {"orient": "bottom", "titleFontWeight": "normal", "labelLimit": 300},
            "range": {"category": COLOURS},
        }
    }


def _share(field: str, title: str) -> Any:
    return alt.Y(field, title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))


def _note(text: str) -> Any:
    """Draw one sentence instead of an empty figure."""
    return alt.Chart(pl.DataFrame({"note": [text]})).mark_text(fontSize=14).encode(text="note:N")


def accuracy_and_followup(rates: pl.DataFrame, accuracy: pl.DataFrame) -> Any:
    """Draw task accuracy beside the follow-up rate of each model, a panel a dataset.

    The follow-up rate is that of the unperturbed cell at the lowest temperature, by each judge.
    """
    plain = rates.filter(
        pl.col("temperature") == pl.col("temperature").min(), pl.col("perturbation") == "none"
    )
    measure = pl.format("genuine follow-up ({})", "judge")
    columns = ["model", "dataset", "measure", "estimate", "lower", "upper"]
    table = pl.concat(
        [
            accuracy.with_columns(measure=pl.lit("task accuracy")).select(columns),
            plain.with_columns(measure=measure).select(columns),
        ]
    ).drop_nulls("estimate")
    if table.is_empty():
        return _note("nothing was graded or scored")
    legend = alt.Legend(columns=1)
    base = alt.Chart(table, width=alt.Step(26), height=220).encode(
        x=alt.X("model:N", title=None, axis=alt.Axis(labelAngle=-35)),
        xOffset="measure:N",
        color=alt.Color("measure:N", title=None, legend=legend),
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        y=_share("estimate:Q", "share of items, 95% interval"),
        shape=alt.Shape("measure:N", legend=None),
    )
    bars = base.mark_rule(strokeWidth=2).encode(y="lower:Q", y2="upper:Q")
    return (bars + points).facet(column=alt.Column("dataset:N", title=None))


def _beside_each_other(rates: pl.DataFrame) -> pl.DataFrame:
    """Shift the perturbations of one temperature a little apart, so that no interval is hidden."""
    names = rates["perturbation"].unique().sort()
    step = 0.012 * max(1.0, rates["temperature"].max() or 1.0)  # type: ignore[operator]
    places = [(i - (len(names) - 1) / 2) * step for i in range(len(names))]
    shifts = pl.DataFrame({"perturbation": names, "shift": pl.Series(places, dtype=pl.Float64)})
    shifted = rates.join(shifts, on="perturbation", maintain_order="left")
    return shifted.with_columns(place=pl.col("temperature") + pl.col("shift"))


def rates_by_temperature(rates: pl.DataFrame) -> Any:
    """Draw the follow-up rate over temperature: a line a perturbation, a panel a dataset."""
    table = _beside_each_other(rates.drop_nulls("estimate"))
    if table.is_empty():
        return _note("no turn was scored")
    base = alt.Chart(table, width=260, height=200).encode(
        x=alt.X("place:Q", title="temperature", axis=alt.Axis(tickCount=5, format=".1f")),
        color=alt.Color("perturbation:N", title=None),
    )
    rate = _share("estimate:Q", "genuine follow-ups, 95% interval")
    lines = base.mark_line(strokeWidth=1.5).encode(y=rate, strokeDash=_dash(rates))
    shape = alt.Shape("perturbation:N", legend=None)
    points = base.mark_point(filled=True, size=50, opacity=1).encode(y="estimate:Q", shape=shape)
    bars = base.mark_rule(strokeWidth=1.5).encode(y="lower:Q", y2="upper:Q")
    return (lines + bars + points).facet(
        row=alt.Row("model:N", title=None), column=alt.Column("dataset:N", title=None)
    )


def _dash(rates: pl.DataFrame) -> Any:
    """Tell judges apart by dashes, with a legend where there are several."""
    several = rates["judge"].n_unique() > 1
    return alt.StrokeDash("judge:N", legend=alt.Legend(title="judge") if several else None)


def save(chart: Any, path_to_vega_lite: str, path_to_svg: str, path_to_png: str) -> None:
    """Write a chart as Vega-Lite JSON, SVG and PNG."""
    kinds: dict[str, dict[str, Any]] = {
        path_to_vega_lite: {"format": "json"},
        path_to_svg: {"format": "svg"},
        path_to_png: {"format": "png", "scale_factor": PIXELS},
    }
    for path, options in kinds.items():
        with written_whole(Path(path)) as temporary:
            chart.save(str(temporary), **options)


def draw_accuracy_and_followup(
    path_to_rates: str,
    path_to_accuracy: str,
    path_to_vega_lite: str,
    path_to_svg: str,
    path_to_png: str,
) -> None:
    """Draw each model's task accuracy beside its follow-up rate."""
    chart = accuracy_and_followup(pl.read_parquet(path_to_rates), pl.read_parquet(path_to_accuracy))
    save(chart, path_to_vega_lite, path_to_svg, path_to_png)


def draw_rates_by_temperature(
    path_to_rates: str, path_to_vega_lite: str, path_to_svg: str, path_to_png: str
) -> None:
    """Draw the follow-up rate over temperature, for each perturbation."""
    chart = rates_by_temperature(pl.read_parquet(path_to_rates))
    save(chart, path_to_vega_lite, path_to_svg, path_to_png)
