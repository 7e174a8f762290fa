"""Figure `likelihood_and_followup`: does who writes more follow-ups also expect people's more?"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from userturn.figures import theme
from userturn.tables.likelihood import REFERENCE
from userturn.tables.likelihood_measures import CHARACTER
from userturn.tables.rates import cell_rates, model_rates
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_likelihood", place=110, tables=("rates", "likelihood"))
TITLE = "Writing follow-ups, and expecting those of a dataset"
TICKS = 5


class Measure(NamedTuple):
    """A measure, which has one column of panels."""

    name: str | None  # in the table of likelihood, None for the rate of follow-ups
    title: str  # what the axis says
    unit: str  # of the measure in that table
    format: str  # of the axis's numbers


MEASURES = (
    Measure(None, "genuine follow-ups", "share", "%"),
    Measure("identified_answer", "reference follow-ups identified", "share", "%"),
    Measure("gain_answer", "gain, nats a character", CHARACTER, ".2~f"),
)


def likelihood_and_followup(
    rates: pl.DataFrame, likelihood: pl.DataFrame, families: pl.DataFrame, judge: str
) -> Any:
    """Draw follow-up rate, identification and gain over model size, a row of panels per dataset.

    The rate is that of unperturbed turns at the lowest temperature, on the row's dataset if the
    grid has it, else on all datasets together. The dashed rule is the chance level.
    """
    likelihood = likelihood.filter(pl.col("part") == REFERENCE)
    if likelihood["estimate"].count() == 0:
        return theme.note(TITLE, "no reference follow-up was scored")
    rows = [
        alt.hconcat(*_panels(name, rates, likelihood, families), spacing=30)
        for name in likelihood["dataset"].unique().sort()
    ]
    more = f"; unperturbed{theme.temperature_row(rates)}; 95% intervals; dashed: by chance"
    return alt.vconcat(*rows, spacing=30).properties(title=theme.titled(TITLE, judge, more))


def _panels(
    dataset: str, rates: pl.DataFrame, likelihood: pl.DataFrame, families: pl.DataFrame
) -> Iterator[Any]:
    of_dataset = likelihood.filter(pl.col("dataset") == dataset)
    for measure in MEASURES:
        if measure.name is None:
            table, panel = _rates(dataset, rates)
        else:
            filters = pl.col("measure") == measure.name, pl.col("unit") == measure.unit
            table, panel = of_dataset.filter(*filters), dataset
        estimated = table.drop_nulls("estimate").with_columns(dataset=pl.lit(dataset))
        yield _panel(estimated, measure, panel, families)


def _rates(dataset: str, rates: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return the models' rates, with `chance` as null, and the name of their dataset."""
    rates = rates.with_columns(chance=pl.lit(None, pl.Float64))
    of_dataset = theme.plain_cells(cell_rates(rates)).filter(pl.col("dataset") == dataset)
    if of_dataset.height:
        return of_dataset, dataset
    return theme.plain_cells(model_rates(rates)), theme.ALL_DATASETS


def _panel(table: pl.DataFrame, measure: Measure, subtitle: str, families: pl.DataFrame) -> Any:
    named = table.select(
        *("model", "dataset", "chance", *theme.INTERVAL),
        value=theme.interval_text(),
        scored=pl.format("{} turns", "n_scored"),
    ).join(families, on="model", maintain_order="left")
    if named.is_empty():
        nothing = theme.note(measure.title, "nothing was scored")
        return nothing.properties(width=theme.PANEL, height=180)
    chance = 0.0 if measure.unit == CHARACTER else named["chance"].mean()
    every = theme.families_in(families, families)  # one legend for all panels
    told = theme.told_apart("family", every)
    x, width = theme.size_axis(named, families)
    base = alt.Chart(named, width=width, height=180).encode(x=x, color=told["color"])
    tooltip = theme.hover("model", "value", "scored", "chance")
    # From 0 to 1 for identified shares, else from 0 to a tick, so that titles align.
    is_whole = measure.unit == "share" and measure.name
    scale = alt.Scale(domain=[0, 1]) if is_whole else alt.Scale(zero=True, nice=TICKS)
    y = alt.Y("estimate:Q", title=None, scale=scale)
    y = y.axis(format=measure.format, tickCount=TICKS)
    lines = [base.mark_line(strokeWidth=1).encode(y=y)] if theme.is_ordered(named) else []
    layers = [*lines, *theme.limits_upright(base, told, tooltip, 1.5, 45, y)]
    if chance is not None:
        level = alt.Chart(pl.DataFrame({"chance": [chance]}))
        layers.append(level.mark_rule(strokeDash=[4, 3], color=theme.INK).encode(y="chance:Q"))
    title = alt.Title(measure.title, subtitle=subtitle, fontSize=12, offset=6)
    return alt.layer(*layers, data=named, title=title)
