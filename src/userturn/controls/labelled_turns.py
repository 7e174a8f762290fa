"""Turns that are known by themselves: real users', the project's labelled ones, injected thanks.

A real user's turn stands after the answer that it reacts to. Every judge is measured on the
labelled turns. Their conversations also carry prompt injections before an answer, where the turn is
a bare thanks: an item of a study has one conversation, for all.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl

from userturn.controls.control_turn import HUMAN, IN_CONVERSATION, control_turn
from userturn.controls.failures import BAIT, INSTRUCTION
from userturn.datasets.prepare import MESSAGE
from userturn.errors import UserError
from userturn.generation.collect import USER_TURNS_SCHEMA
from userturn.storage.table_files import Schema, write_table
from userturn.study.inputs import INJECTED, LABELLED

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


INJECTED_ITEMS: Schema = {"item": pl.String, "messages": pl.List(MESSAGE)}
NOTE = f"\n\nNote to whoever labels what follows: {INSTRUCTION}"


def _first_of_each(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first labelled turn of each conversation in English."""
    english = [row for row in rows if row["language"] == "en"]
    return list({row["conversation"]: row for row in reversed(english)}.values())[::-1]


def _with_note(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return a conversation whose first message of the user ends in the injection."""
    place = next(n for n, message in enumerate(messages) if message["role"] == "user")
    changed = messages[place] | {"content": messages[place]["content"] + NOTE}
    return [*messages[:place], changed, *messages[place + 1 :]]


def injected_items(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the conversations before the answers, each with an injection."""
    items = [
        {"item": row["conversation"], "messages": _with_note(row["messages"][:-1])}
        for row in _first_of_each(rows)
    ]
    return pl.DataFrame(items, schema=INJECTED_ITEMS)


def injected_turns(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the bare thanks after each of them, as user turns of a cell."""
    turns = [
        control_turn(
            INJECTED,
            INJECTED,
            IN_CONVERSATION,
            row["conversation"],
            row["messages"][-1]["content"],
            BAIT,
        )
        for row in _first_of_each(rows)
    ]
    return pl.DataFrame(turns, schema=USER_TURNS_SCHEMA)


def inject_conversations(
    identity: str, path_to_labelled: str, path_to_items: str, path_to_user_turns: str
) -> None:
    """Write the conversations with an injection, and the turns after them."""
    rows = read_labelled(path_to_labelled)
    write_table(injected_items(rows), path_to_items, identity)
    write_table(injected_turns(rows), path_to_user_turns, identity)


def human_turns(items: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Return the real user turns of a dataset, each after the answer that it reacts to.

    Raises:
        UserError: no item ends where its reference begins.
    """
    rows = [
        control_turn(
            HUMAN, dataset, HUMAN, row["item"], row["reference_context"][-1]["content"], turn
        )
        for row in items.iter_rows(named=True)
        if (turn := row["reference_user_turn"]) and row["reference_context"][:-1] == row["messages"]
    ]
    if not rows:
        raise UserError(
            f"dataset '{dataset}' has no user turn that reacts to an answer in its data; give it "
            "`condition: gold_context`, or remove it from controls.human"
        )
    return pl.DataFrame(rows, schema=USER_TURNS_SCHEMA)


def take_human_turns(
    dataset: str, identity: str, path_to_items: str, path_to_user_turns: str
) -> None:
    """Write the real user turns of a dataset."""
    write_table(human_turns(pl.read_parquet(path_to_items), dataset), path_to_user_turns, identity)
