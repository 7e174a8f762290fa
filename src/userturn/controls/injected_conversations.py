"""Prompt injections in the conversation before an answer; the turn after that is a bare thanks.

The project's own conversations carry them: an item of a study has one conversation, for all.
"""

from typing import Any

import polars as pl

from userturn.controls.control_turn import IN_CONVERSATION, control_turn
from userturn.controls.injections import BAIT, INSTRUCTION
from userturn.controls.labelled_turns import read_labelled
from userturn.datasets.prepare import MESSAGE
from userturn.generation.collect import USER_TURNS_SCHEMA
from userturn.storage.table_files import Schema, write_table
from userturn.study.inputs import INJECTED

ITEMS: Schema = {"item": pl.String, "messages": pl.List(MESSAGE)}
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
    return pl.DataFrame(items, schema=ITEMS)


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
