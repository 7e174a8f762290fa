"""Datasets as items: one conversation each, ending in a user message, with what grades it.

Prepared tables have one row an item: `item` (id), `messages` (list of role and content),
`reference_answer`, `verifier_arguments` (JSON) and `reference_user_turn`, null where there is none.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from userturn.errors import UserError
from userturn.tables import Schema, write_table

MESSAGE = pl.Struct({"role": pl.String, "content": pl.String})
SCHEMA: Schema = {
    "item": pl.String,
    "messages": pl.List(MESSAGE),
    "reference_answer": pl.String,
    "verifier_arguments": pl.String,
    "reference_user_turn": pl.String,
}
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class Item:
    """One conversation of a dataset, ending in a user message."""

    id: str
    messages: tuple[dict[str, str], ...]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a JSON lines file with their line numbers.

    Raises:
        UserError: a line that is not one JSON object.
    """
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise UserError(
                    f"{path}, line {number}: not JSON ({error.msg}); mend that line"
                ) from error
            if not isinstance(row, dict):
                raise UserError(
                    f"{path}, line {number}: found a {type(row).__name__}, expected an object"
                )
            yield number, row


def _messages(row: Mapping[str, Any], fields: Mapping[str, str], instruction: str) -> Any:
    if "prompt" in fields:
        return [{"role": "user", "content": f"{row[fields['prompt']]}{instruction}"}]
    return row[fields["messages"]]


def _check_messages(messages: Any, where: str) -> None:
    """Refuse a conversation that does not end in a user message with text."""
    if not isinstance(messages, list) or not all(
        isinstance(m, dict) and m.get("role") in ROLES and isinstance(m.get("content"), str)
        for m in messages
    ):
        raise UserError(
            f"{where}: messages must be a list of {{role, content}} with roles "
            f"{', '.join(ROLES)}; mend that row"
        )
    if not messages or messages[-1]["role"] != "user" or not messages[-1]["content"].strip():
        found = messages[-1]["role"] if messages else "nothing"
        raise UserError(
            f"{where}: the conversation ends in {found}, expected a user message with text; "
            "mend or remove that row"
        )


def read_rows(path: Path, fields: Mapping[str, str], instruction: str = "") -> list[dict[str, Any]]:
    """Read a dataset's file into rows of the prepared schema, in the file's order.

    Raises:
        UserError: a missing file or column, a bad conversation, an id seen before.
    """
    if not path.is_file():
        raise UserError(f"dataset file '{path}' does not exist; mend `file` in the dataset's entry")
    seen: dict[str, int] = {}
    rows = []
    for number, row in _rows(path):
        where = f"{path}, line {number}"
        for column in fields.values():
            if column not in row:
                raise UserError(
                    f"{where}: no column '{column}', found {', '.join(sorted(row))}; "
                    "mend `fields` in the dataset's entry"
                )
        messages = _messages(row, fields, instruction)
        _check_messages(messages, where)
        item = str(row[fields["id"]])
        if item in seen:
            raise UserError(
                f"{where}: the id '{item}' stands in line {seen[item]} already; ids must be unique"
            )
        seen[item] = number
        rows.append(
            {
                "item": item,
                "messages": messages,
                "reference_answer": row[fields["reference"]] if "reference" in fields else None,
            }
        )
    return rows


def prepare_dataset(settings: Mapping[str, Any], identity: str, path_to_items: str | Path) -> None:
    """Write a dataset's items as the prepared table."""
    rows = read_rows(Path(settings["file"]), settings["fields"], settings.get("instruction", ""))
    rows = rows[: settings.get("limit")]
    write_table(pl.DataFrame(rows, schema=SCHEMA), path_to_items, identity)


def read_items(path: str | Path) -> list[Item]:
    """Read the items of a prepared table, in its order."""
    table = pl.read_parquet(path, columns=["item", "messages"])
    return [Item(item, tuple(messages)) for item, messages in table.iter_rows()]
