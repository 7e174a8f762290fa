"""Table `rates_by_turn`: the rate after each user turn of a dataset's conversations."""

from typing import Any

import polars as pl

from userturn.datasets.clusters import clusters
from userturn.datasets.turns import turn_numbers
from userturn.judges.judge_cell import scan_verdicts
from userturn.storage.key_columns import JUDGED_CELL_COLUMNS, JUDGED_CELL_KEYS
from userturn.storage.parquet import Schema
from userturn.tables.item_counts import RATE
from userturn.tables.layout import BOUNDS, GENUINE, SCORED, TEMPERATURE, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_clusters import change, rate_columns
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_turns",
    place=170,
    row="a cell, judge and user turn of a dataset's conversations",
    made_of=("conversation_verdicts",),
    needs="conversation_verdicts",
    version=3,
)
MEANINGS = {
    "turn": (
        "number of the user turn in the dataset's conversation, from 1, that the model answers "
        "before it is probed"
    ),
    "n_conversations": "conversations that have such a turn",
    "change": (
        "rate after this turn minus the rate after the cell's first one, over conversations that "
        "were scored after both; null for the first"
    ),
}
CHANGE = ("change", "change_lower", "change_upper")
SCHEMA: Schema = {
    **JUDGED_CELL_COLUMNS,
    "turn": pl.Int64,
    "n_conversations": pl.Int64,
    "n_turns": pl.Int64,
    "n_scored": pl.Int64,
    "n_genuine": pl.Int64,
    **RATE,
    **dict.fromkeys(CHANGE, pl.Float64),
    "n_shared": pl.Int64,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    verdicts = scan_verdicts(material.paths["conversation_verdicts"])
    return rates_by_turn(verdicts.select(*JUDGED_CELL_KEYS, "item", "genuine").collect())


def rates_by_turn(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per cell, judge and number of the user turn before the answer.

    Not every conversation has a later turn, so rates of two turns are of different conversations.
    `change` is over those that were scored at the turn and at the cell's first one. Intervals are
    clustered by conversation.

    Args:
        verdicts: one row per judged turn, with `item` and `genuine`.
    """
    turns = verdicts.with_columns(turn=turn_numbers(), conversation=clusters())
    rows = []
    for names, cell in turns.partition_by(JUDGED_CELL_KEYS, as_dict=True).items():
        first = cell.filter(pl.col("turn") == pl.col("turn").min())
        for (turn,), after in cell.partition_by("turn", as_dict=True).items():
            place = dict(zip(JUDGED_CELL_KEYS, names, strict=True)) | {"turn": turn}
            rows.append(place | measures_of(after, first, "conversation"))
    return pl.DataFrame(rows, schema=SCHEMA).sort(*JUDGED_CELL_KEYS, "turn")


def measures_of(turns: pl.DataFrame, first: pl.DataFrame, cluster: str) -> dict[str, Any]:
    """Return counts and rate of some turns, and the change since the first ones."""
    n_genuine, n_scored = int(turns["genuine"].sum()), turns["genuine"].count()
    found, n_shared = change(first, turns, cluster)
    changed = {**dict(zip(CHANGE, found, strict=True)), "n_shared": n_shared}
    return {
        "n_conversations": turns[cluster].n_unique(),
        "n_turns": turns.height,
        "n_scored": n_scored,
        "n_genuine": n_genuine,
        **rate_columns(turns, cluster),
        **({} if turns.equals(first) else changed),
    }


SHIFTED = column("change since the first", "change", *CHANGE)
LAYOUT = Layout(
    "After each turn of real conversations",
    {},
    (
        *texts("model", "dataset"),
        TEMPERATURE,
        *texts("perturbation", "judge"),
        column("turn", "count", "turn"),
        column("conversations", "count", "n_conversations"),
        GENUINE,
        SCORED,
        BOUNDS,
        SHIFTED,
        column("in both", "count", "n_shared"),
    ),
)
