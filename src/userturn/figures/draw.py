"""Figures in altair: an interval on every estimate, one judge, models by family and size.

Each figure is written as Vega-Lite JSON (for tests and the report), SVG and PNG.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from userturn.figures.grid_overview import grid_overview
from userturn.figures.theme import (
    INK,
    PLAIN,
    ceiling,
    conditions_in,
    families_in,
    models_in,
    note,
    save,
    titled,
    told_apart,
)
from userturn.judges.verdict import GENUINE

ALL = "all"
ALL_DATASETS = "all datasets"
NOTHING = "no turn was scored"
SPACED = 26  # pixels between panels whose first and last labels would touch
SMALL = 3  # from more models than this, panels are small


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """Return the unperturbed rows at the lowest temperature."""
    lowest = pl.col("temperature") == pl.col("temperature").min()
    return table.filter(lowest, pl.col("perturbation") == PLAIN)


def _temperature(rates: pl.DataFrame) -> str:
    """Return the lowest temperature as a part of a sentence."""
    return "".join(f", temperature {t:g}" for t in rates["temperature"].unique().sort()[:1])


MEASURES = ["task accuracy", "genuine follow-up"]


def _measures(rates: pl.DataFrame, accuracy: pl.DataFrame, families: pl.DataFrame) -> pl.DataFrame:
    """Return accuracy and unperturbed follow-up rate of each model and dataset, in rows."""
    columns = ["model", "dataset", "measure", "estimate", "lower", "upper"]
    tables = [
        table.with_columns(measure=pl.lit(measure)).select(columns)
        for measure, table in zip(MEASURES, (accuracy, _plain(rates)), strict=True)
    ]
    return pl.concat(tables).drop_nulls("estimate").join(families, on="model")


def _over_size(table: pl.DataFrame, families: pl.DataFrame) -> tuple[dict[str, Any], int]:
    """Return the encoding of the axis and its width: of sizes if all are known, else of models."""
    if table["size"].null_count() or table["size"].n_unique() < 2:
        names = alt.X("model:N", title=None, sort=models_in(families, table)).axis(labelAngle=-35)
        offset = alt.XOffset("measure:N", sort=MEASURES)
        return {"x": names, "xOffset": offset}, max(120, 40 * table["model"].n_unique())
    axis = alt.Axis(format="~g", values=[0.1, 1, 10, 100, 1000], grid=False)
    x = alt.X("size:Q", title="parameters, billions", axis=axis)
    return {"x": x.scale(type="log", nice=False, padding=12)}, 160


def accuracy_and_followup(
    rates: pl.DataFrame, accuracy: pl.DataFrame, families: pl.DataFrame, judge: str
) -> Any:
    """Draw task accuracy and follow-up rate of each model over its size, a panel a dataset.

    The follow-up rate is that of the unperturbed cell at the lowest temperature. Where the size
    of a model is not known, models stand side by side instead.
    """
    table = _measures(rates, accuracy, families)
    if table.is_empty():
        return note("nothing was graded or scored")
    place, width = _over_size(table, families)
    told = told_apart("family", families_in(families, table))
    y = alt.Y("estimate:Q", title="share of items, 95% interval")
    y = y.scale(domain=[0, 1]).axis(format="%")
    dash = alt.StrokeDash("measure:N").scale(domain=MEASURES)
    base = alt.Chart(table, width=width, height=210).encode(color=told["color"], **place)
    # Models side by side are in no order that a line could mean.
    opacity = 0 if "xOffset" in place else 1
    lines = base.mark_line(strokeWidth=1.3, opacity=opacity).encode(y=y, strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1.5).encode(y="lower:Q", y2="upper:Q")
    points = [
        base.mark_point(filled=filled, size=45, opacity=1, strokeWidth=1.5)
        .transform_filter(alt.datum.measure == measure)
        .encode(y="estimate:Q", shape=told["shape"])
        for measure, filled in zip(MEASURES, (True, False), strict=True)
    ]
    chart = alt.layer(lines, bars, *points, data=table).facet(
        column=alt.Column("dataset:N", title=None)
    )
    more = f"; unperturbed{_temperature(rates)}; filled: accuracy, open: follow-up"
    return chart.properties(title=titled("Task accuracy and genuine follow-ups", judge, more))


def _beside_each_other(rates: pl.DataFrame) -> pl.DataFrame:
    """Shift the perturbations of one temperature a little apart, so that no interval is hidden."""
    names = rates["perturbation"].unique().sort()
    step = 0.016 * max(1.0, rates["temperature"].max() or 1.0)  # type: ignore[operator]
    places = [(i - (len(names) - 1) / 2) * step for i in range(len(names))]
    shifts = pl.DataFrame({"perturbation": names, "shift": pl.Series(places, dtype=pl.Float64)})
    shifted = rates.join(shifts, on="perturbation", maintain_order="left")
    return shifted.with_columns(place=pl.col("temperature") + pl.col("shift"))


def rates_by_temperature(rates: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw the follow-up rate over temperature: a row a model, a panel a dataset."""
    table = _beside_each_other(rates.drop_nulls("estimate"))
    if table.is_empty():
        return note(NOTHING)
    models = models_in(families, table)
    width, height = (260, 180) if len(models) <= SMALL else (130, 62)
    x = alt.X("place:Q", title="temperature").axis(tickCount=5, format=".1f", grid=False)
    y = alt.Y("estimate:Q", title=None).axis(format="%", tickCount=3)
    y = y.scale(domain=[0, ceiling(table["upper"])])
    names = conditions_in(table, "perturbation")
    told = told_apart("perturbation", names)
    base = alt.Chart(table, width=width, height=height).encode(x=x, color=told["color"])
    dash = alt.StrokeDash("perturbation:N").scale(domain=names)
    lines = base.mark_line(strokeWidth=1.2).encode(y=y, strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1.2).encode(y="lower:Q", y2="upper:Q")
    points = base.mark_point(filled=True, size=26, opacity=1).encode(
        y="estimate:Q", shape=told["shape"]
    )
    header = alt.Header(labelAngle=0, labelAlign="left", labelBaseline="middle")
    chart = (lines + bars + points).facet(
        row=alt.Row("model:N", title=None, sort=models, header=header),
        column=alt.Column("dataset:N", title=None),
    )
    title = titled("Genuine follow-ups over temperature, share of turns", judge, "; 95% intervals")
    return chart.properties(title=title)


def _datasets(table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return a table with `all` spelt out, and its datasets, that first if there are several."""
    names = sorted(set(table["dataset"]) - {ALL})
    if len(names) < 2:
        return table.filter(pl.col("dataset") != ALL), names
    return table.with_columns(pl.col("dataset").replace(ALL, ALL_DATASETS)), [ALL_DATASETS, *names]


def perturbation_effects(contrasts: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw how perturbations change the follow-up rate of the same items at the lowest temperature.

    A filled mark has an adjusted p below 0.05.
    """
    table, datasets = _datasets(
        contrasts.filter(
            pl.col("factor") == "perturbation",
            pl.col("scope") != "family",
            pl.col("temperature") == pl.col("temperature").min(),
        ).with_columns(detected=pl.col("p_adjusted") < 0.05)
    )
    if table.is_empty():
        return note("no perturbation shares an item with the plain answer")
    told = told_apart("condition", conditions_in(table, "condition"))
    y = alt.Y("model:N", title=None, sort=models_in(families, table)).axis(grid=True)
    base = alt.Chart(table, width=125, height=alt.Step(12)).encode(
        y=y.scale(paddingInner=0.25), yOffset="condition:N", color=told["color"]
    )
    x = alt.X("difference:Q", title="change of rate")
    x = x.axis(format="%", tickCount=2, grid=False, labelFlush=False)
    bars = base.mark_rule(strokeWidth=1.6).encode(x="lower:Q", x2="upper:Q")
    points = [
        base.mark_point(filled=filled, size=34, opacity=1, strokeWidth=1.4)
        .transform_filter(alt.datum.detected == filled)
        .encode(x=x, shape=told["shape"])
        for filled in (True, False)
    ]
    zero = alt.Chart().mark_rule(color=INK, strokeDash=[2, 2]).encode(x=alt.datum(0))
    chart = alt.layer(zero, bars, *points, data=table).facet(
        column=alt.Column("dataset:N", title=None, sort=datasets), spacing=SPACED
    )
    more = f"; temperature {table['temperature'][0]:g}; 95% intervals; filled: adjusted p < 0.05"
    return chart.properties(title=titled("Change by perturbations, same items", judge, more))


def failure_profiles(profiles: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw the share of each label among the unperturbed turns of each model, over all datasets."""
    rows = profiles.filter(pl.col("scope") == "model").drop_nulls("estimate")
    table = _plain(rows)
    if table.is_empty():
        return note(NOTHING)
    labels = sorted(table["label"].unique(), key=lambda label: (label != GENUINE, label))
    told = told_apart("family", families_in(families, table))
    y = alt.Y("model:N", title=None, sort=models_in(families, table)).axis(grid=True)
    base = alt.Chart(table, width=105, height=alt.Step(20)).encode(y=y, color=told["color"])
    top = ceiling(table["upper"])
    x = alt.X("estimate:Q", title="share").scale(domain=[0, top])
    x = x.axis(format="%", values=[0, top / 2], grid=False, labelFlush=False)
    bars = base.mark_bar(fillOpacity=0.3, height=9).encode(x=x)
    rules = base.mark_rule(strokeWidth=1.6).encode(x="lower:Q", x2="upper:Q")
    points = base.mark_point(filled=True, size=32, opacity=1).encode(
        x="estimate:Q", shape=told["shape"]
    )
    chart = (bars + rules + points).facet(
        column=alt.Column("label:N", title=None, sort=labels, header=alt.Header(labelFontSize=10)),
        spacing=SPACED,
    )
    more = f"; unperturbed, temperature {table['temperature'][0]:g}, all datasets; 95% intervals"
    return chart.properties(title=titled("What the user turns are", judge, more))


FIGURES: dict[str, tuple[Any, Sequence[str]]] = {
    "accuracy_and_followup": (accuracy_and_followup, ["rates", "accuracy"]),
    "rates_by_temperature": (rates_by_temperature, ["rates"]),
    "perturbation_effects": (perturbation_effects, ["contrasts"]),
    "failure_profiles": (failure_profiles, ["failure_profiles"]),
    "grid_overview": (grid_overview, ["health"]),
}


def draw_figures(
    judge: str,
    identity: str,
    paths_to_tables: Mapping[str, str],
    paths_to_figures: Mapping[str, Sequence[str]],
) -> None:
    """Draw every figure, from the verdicts of one judge.

    Args:
        judge: whose verdicts are shown.
        identity: of the figures.
        paths_to_tables: by the table's name.
        paths_to_figures: by the figure's name: Vega-Lite, SVG and PNG.
    """
    tables = {name: pl.read_parquet(path) for name, path in paths_to_tables.items()}
    shown = {
        name: table.filter(pl.col("judge") == judge) if "judge" in table.columns else table
        for name, table in tables.items()
    }
    for name, paths in paths_to_figures.items():
        figure, needed = FIGURES[name]
        chart = figure(*(shown[table] for table in needed), shown["families"], judge)
        save(chart, identity, *map(str, paths))
