"""The project's own labelled user turns, on which every judge is measured."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from userturn.controls.control_turn import control_turn
from userturn.datasets.prepare import MESSAGE
from userturn.generation.collect import USER_TURNS_SCHEMA
from userturn.storage.table_files import Schema, write_table
from userturn.study.inputs import LABELLED

ITEMS_SCHEMA: Schema = {
    "item": pl.String,
    "messages": pl.List(MESSAGE),
    "conversation": pl.String,
    "language": pl.String,
    "label": pl.String,
}


def read_labelled(path: str | Path) -> list[dict[str, Any]]:
    """Return the labelled turns: `id`, `conversation`, `messages`, `turn`, `language`, `label`."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def labelled_items(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return each labelled turn's conversation before its last answer, with its label."""
    items = [
        {"item": row["id"], "messages": row["messages"][:-1]}
        | {name: row[name] for name in ("conversation", "language", "label")}
        for row in rows
    ]
    return pl.DataFrame(items, schema=ITEMS_SCHEMA)


def labelled_turns(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the labelled turns as user turns of a cell."""
    turns = [
        control_turn(
            LABELLED, LABELLED, LABELLED, row["id"], row["messages"][-1]["content"], row["turn"]
        )
        for row in rows
    ]
    return pl.DataFrame(turns, schema=USER_TURNS_SCHEMA)


def take_labelled_turns(
    identity: str, path_to_labelled: str, path_to_items: str, path_to_user_turns: str
) -> None:
    """Write the labelled turns as items and user turns, for every judge to read."""
    rows = read_labelled(path_to_labelled)
    write_table(labelled_items(rows), path_to_items, identity)
    write_table(labelled_turns(rows), path_to_user_turns, identity)
