"""Figure `rates_by_temperature`: follow-up rates over temperature."""

from typing import Any

import altair as alt
import polars as pl

from userturn.figures import theme
from userturn.storage.table_files import CELL_KEYS
from userturn.tables.rates import cell_rates
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_figures", place=20, tables=("rates",))
TITLE = "Genuine follow-ups over temperature, share of turns"
FLOOR = ("floor", "floor_lower", "floor_upper")


def _shifted_apart(rates: pl.DataFrame) -> pl.DataFrame:
    """Return rates with `place`, the temperature, shifted by perturbation so that all are seen."""
    names = rates["perturbation"].unique().sort()
    step = 0.016 * max(1.0, rates["temperature"].max() or 1.0)  # type: ignore[operator]
    places = [(i - (len(names) - 1) / 2) * step for i in range(len(names))]
    shifts = pl.DataFrame({"perturbation": names, "shift": pl.Series(places, dtype=pl.Float64)})
    shifted = rates.join(shifts, on="perturbation", maintain_order="left")
    return shifted.with_columns(place=pl.col("temperature") + pl.col("shift"))


def _layers(table: pl.DataFrame, width: int, height: int) -> Any:
    told = theme.told_apart("perturbation", theme.conditions_in(table, "perturbation"))
    tooltip = theme.hover(*CELL_KEYS, "genuine", "scored", "chance_floor")
    base = alt.Chart(table, width=width, height=height).encode(
        x=theme.temperature_axis(table), color=told["color"]
    )
    floor = base.mark_tick(thickness=2.5, width=11, opacity=0.45, orient="horizontal").encode(
        y="floor:Q"
    )
    return theme.lines_with_limits(base, told, tooltip) + floor


def rates_by_temperature(rates: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw follow-up rates and floors over temperature: a row per model, a panel per dataset."""
    rates = cell_rates(rates)
    if rates["estimate"].count() == 0:
        return theme.note(TITLE, theme.NOTHING)
    # With the cells that have no rate: without any row a panel would be missing, and others move.
    table = _shifted_apart(rates).with_columns(
        chance_floor=theme.percent_text(FLOOR),
        genuine=theme.percent_text(),
        scored=theme.out_of("n_scored", "n_turns", "turns"),
    )
    models = theme.models_in(families, table)
    widest, height = (260, 180) if len(models) <= theme.SMALL else (130, 62)
    width = theme.panel_width(table["dataset"].n_unique(), widest)
    chart = theme.row_a_model(_layers(table, width, height), models)
    more = "; 95% intervals"
    if table["floor"].count():
        more += "; pale bar: chance floor, the same turns after another item's answer"
    return chart.properties(title=theme.titled(TITLE, judge, more))
