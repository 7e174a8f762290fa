"""Figure `turn_properties`: copies, endings and variety of the turns, beside those of people."""

from typing import Any

import altair as alt
import polars as pl

from userturn.controls.control_turn import HUMAN
from userturn.figures import theme
from userturn.storage.table_files import CELL_KEYS
from userturn.study.cells import PLAIN
from userturn.workflow.registry import Figure

FIGURE = Figure(rule="draw_turn_properties", place=25, tables=("turn_properties",))
TITLE = "What the turns are like, without a judge"
NOTHING = "no turn has text"
MEASURES = {  # by the table's column, in the order of the panels
    "near_copies": "copies or nearly",
    "repeats_prompt": "repeats the prompt",
    "ends_at_once": "ends at once",
    "distinct_2": "distinct-2",
    "hdd": "HD-D",
}
WIDTH = 130  # of a panel


def turn_properties(properties: pl.DataFrame, families: pl.DataFrame, judge: str) -> Any:
    """Draw five measures over temperature: a row per model, panel per measure, line per dataset."""
    shift = theme.MARGIN * theme.SHIFT * (pl.col("dataset").rank("dense") - 1)
    table = theme.row_a_measure(properties, MEASURES, *CELL_KEYS).with_columns(
        place=pl.col("temperature") + shift, value=theme.percent_text()
    )
    of_models = table.filter(pl.col("model") != HUMAN)
    if of_models["estimate"].count() == 0:
        return theme.note(TITLE, NOTHING)
    models = theme.models_in(families, of_models)
    of_people = table.filter(pl.col("model") == HUMAN).drop("model").drop_nulls("estimate")
    people = of_people.join(pl.DataFrame({"model": models}), how="cross").select(table.columns)
    both = pl.concat([of_models, people])
    measures = alt.Column("measure:N", title=None, sort=list(MEASURES.values()))
    chart = theme.row_a_model(_layers(both, of_models, len(models)), models, measures)
    more = "95% intervals by item; horizontal: turns that people wrote"
    return theme.preset(chart, perturbation=PLAIN).properties(title=alt.Title(TITLE, subtitle=more))


def _layers(rows: pl.DataFrame, of_models: pl.DataFrame, n_models: int) -> Any:
    height = 110 if n_models <= theme.SMALL else 62
    told = theme.told_apart("dataset", rows["dataset"].unique().sort().to_list())
    tooltip = theme.hover(*CELL_KEYS, "measure", "value")
    base = alt.Chart(rows, width=WIDTH, height=height).encode(color=told["color"])
    own = base.transform_filter("datum.temperature !== null")
    people = base.transform_filter("datum.temperature === null")
    rules = people.mark_rule(strokeDash=[4, 3]).encode(y="estimate:Q", tooltip=tooltip)
    own = own.encode(x=theme.temperature_axis(of_models))
    return theme.lines_with_limits(own, told, tooltip) + rules
