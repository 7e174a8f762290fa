"""Figures in altair: one theme, an interval on every estimate, colours safe for all eyes.

Each figure is written as Vega-Lite JSON (for tests and the report), SVG and PNG.
"""

from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from userturn.tables import written_whole

# Okabe and Ito (2008): eight colours that all kinds of colour vision keep apart.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999"]
INK, GRID = "#222222", "#E5E5E5"
RATE = "genuine follow-ups (share of scored turns)"


@alt.theme.register("userturn", enable=True)
def theme() -> alt.theme.ThemeConfig:
    """Return the one look of all figures."""
    text = {"labelFontSize": 11, "titleFontSize": 12, "labelColor": INK, "titleColor": INK}
    return alt.theme.ThemeConfig(
        {
            "background": "white",
            "config": {
                "font": "DejaVu Sans, Helvetica, Arial, sans-serif",
                "view": {"stroke": None},
                "axis": {**text, "titleFontWeight": "normal", "gridColor": GRID, "domainColor": INK},
                "header": {**text, "titleFontWeight": "bold"},
                "legend": {**text, "orient": "bottom", "titleFontWeight": "normal"},
                "range": {"category": COLOURS},
                "title": {"fontSize": 14, "color": INK, "anchor": "start"},
            },
        }
    )


def _share(field: str, title: str) -> Any:
    return alt.Y(field, title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))


def accuracy_and_followup(rates: pl.DataFrame, accuracy: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw task accuracy beside the follow-up rate of each model, a panel a dataset.

    The follow-up rate is that of the unperturbed cell at the lowest temperature, by each judge.
    """
    plain = rates.filter(
        (pl.col("temperature") == pl.col("temperature").min()) & (pl.col("perturbation") == "none")
    )
    columns = ["model", "dataset", "measure", "estimate", "lower", "upper"]
    table = pl.concat(
        [
            accuracy.with_columns(measure=pl.lit("task accuracy")).select(columns),
            plain.with_columns(measure="genuine follow-up (" + pl.col("judge") + ")").select(columns),
        ]
    ).drop_nulls("estimate")
    base = alt.Chart(table, width=alt.Step(26), height=220).encode(
        x=alt.X("model:N", title=None, axis=alt.Axis(labelAngle=-35)),
        xOffset="measure:N",
        color=alt.Color("measure:N", title=None),
    )
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        y=_share("estimate:Q", "share of items, 95% interval"), shape=alt.Shape("measure:N", title=None)
    )
    bars = base.mark_rule(strokeWidth=2).encode(y="lower:Q", y2="upper:Q")
    return (bars + points).facet(column=alt.Column("dataset:N", title=None))


def rates_by_temperature(rates: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw the follow-up rate over temperature, a line a perturbation, a panel a model and dataset."""
    base = alt.Chart(rates.drop_nulls("estimate"), width=240, height=180).encode(
        x=alt.X("temperature:Q", title="temperature", axis=alt.Axis(tickCount=5)),
        color=alt.Color("perturbation:N", title="answer"),
    )
    spread = alt.XOffset("perturbation:N")
    lines = base.mark_line(strokeWidth=1.5).encode(
        y=_share("estimate:Q", RATE), strokeDash=alt.StrokeDash("judge:N", title="judge")
    )
    points = base.mark_point(filled=True, size=50, opacity=1).encode(
        y="estimate:Q", shape=alt.Shape("perturbation:N", title="answer")
    )
    bars = base.mark_rule(opacity=0.6).encode(y="lower:Q", y2="upper:Q")
    del spread
    return (lines + bars + points).facet(
        row=alt.Row("model:N", title=None), column=alt.Column("dataset:N", title=None)
    )


def save(chart: alt.TopLevelMixin, path_to_vega_lite: str, path_to_svg: str, path_to_png: str) -> None:
    """Write a chart as Vega-Lite JSON, SVG and PNG (twice the size of the screen's pixels)."""
    for path, options in (
        (path_to_vega_lite, {"format": "json"}),
        (path_to_svg, {"format": "svg"}),
        (path_to_png, {"format": "png", "scale_factor": 2}),
    ):
        with written_whole(Path(path)) as temporary:
            chart.save(str(temporary), **options)


def draw_accuracy_and_followup(
    path_to_rates: str, path_to_accuracy: str, path_to_vega_lite: str, path_to_svg: str, path_to_png: str
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
