"""Prepare datasets as items: conversations that end in a user message, with the data to grade them.

Prepared tables have one row per item, sorted by id: `item` (id), `messages` (list of role and
content), `reference_answer`, `verifier_arguments` (JSON), `reference_context` (messages up to the
dataset's own first answer) and `reference_user_turn` (the human reply to it), null if there is
none. The last two are only for controls and likelihood; judges of model turns never see them.
Where an entry has `turns`, there are also `conversation` and `turn`, the number of the user turn
that the item ends in.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import polars as pl

from userturn.datasets.fetch import Row, fetch, read_rows
from userturn.datasets.items import identified, items_of_row
from userturn.datasets.turns import TURN_COLUMNS, items_by_turn
from userturn.errors import UserError
from userturn.storage.hashing import fingerprint
from userturn.storage.parquet import SLICE, Schema, slices, write_parts

MESSAGE = pl.Struct({"role": pl.String, "content": pl.String})
SCHEMA: Schema = {
    "item": pl.String,
    "messages": pl.List(MESSAGE),
    "reference_answer": pl.String,
    "verifier_arguments": pl.String,
    "reference_context": pl.List(MESSAGE),
    "reference_user_turn": pl.String,
}


@dataclass(frozen=True)
class Item:
    """One conversation of a dataset, ending in a user message."""

    id: str
    messages: tuple[dict[str, str], ...]


def language(text: str) -> str | None:
    """Return the language of a text by langdetect, reproducibly; None if it has none."""
    from langdetect import DetectorFactory, LangDetectException, detect

    DetectorFactory.seed = 0  # its only seed; without it the guesses vary
    try:
        return str(detect(text))
    except LangDetectException:
        return None


def user_text(item: Row) -> str:
    """Return the text of all user messages in an item."""
    return "\n".join(m["content"] for m in item["messages"] if m["role"] == "user")


def rank(seed: int, item: str) -> str:
    """Return an item's sort key for the subsample; it depends on no other item."""
    return fingerprint([seed, item])


def select(items: Iterable[Row], settings: Mapping[str, Any]) -> list[Row]:
    """Return the items of the configured language and subsample, sorted by id.

    The subsample is the `limit` items that rank first by the hash of seed and id, so that rows
    added to the file replace few of its items, and reordered rows none. With `turns` it is `limit`
    conversations, each with all its items.
    """

    def conversation(item: Row) -> str:
        return str(item.get("conversation", item["item"]))

    chosen: Iterable[Row] = items
    if "limit" in settings:
        chosen = sorted(items, key=lambda item: rank(settings["seed"], conversation(item)))
    if "language" in settings:
        chosen = (item for item in chosen if language(user_text(item)) == settings["language"])
    together = islice(groupby(chosen, key=conversation), settings.get("limit"))
    return sorted((item for _, group in together for item in group), key=lambda item: item["item"])


def read_dataset(path: Path, settings: Mapping[str, Any]) -> list[Row]:
    """Read a dataset's file into items of the prepared schema.

    Raises:
        UserError: a row cannot be an item, the number of rows is not the pinned one, or no item is
            left.
    """
    n_rows = 0

    def placed() -> Iterator[tuple[str, Row]]:
        nonlocal n_rows
        for where, row in read_rows(path):
            n_rows += 1
            for item in items_of_row(row, settings, where):
                yield where, item

    items = list(identified(placed()))
    if "turns" in settings:
        items = list(items_by_turn(items))
    if n_rows != settings.get("rows", n_rows):
        raise UserError(
            f"'{path}': found {n_rows} rows, expected {settings['rows']}; download the pinned file "
            "again, or correct `rows` in the dataset's entry"
        )
    if not n_rows:
        raise UserError(f"'{path}' has no rows; fetch it again, or correct `file` in its entry")
    selected = select(items, settings)
    if not selected:
        raise UserError(
            f"'{path}': none of the {n_rows} rows gives an item; correct `file`, `language` or "
            "`condition` in the dataset's entry"
        )
    return selected


def _with_instruction(item: Row, instruction: str) -> Row:
    *before, last = item["messages"]
    asked = {"role": "user", "content": f"{last['content']}{instruction}"}
    return item | {"messages": [*before, asked]}


def items_table(settings: Mapping[str, Any], file: Path) -> pl.DataFrame:
    """Return a dataset's items as the prepared table.

    Raises:
        UserError: as `read_dataset`.
    """
    items = read_dataset(file, settings)
    if "instruction" in settings:
        items = [_with_instruction(item, settings["instruction"]) for item in items]
    return pl.DataFrame(items, schema=SCHEMA | (TURN_COLUMNS if "turns" in settings else {}))


def prepare_dataset(settings: Mapping[str, Any], identity: str, path_to_items: str | Path) -> None:
    """Write a dataset's items as the prepared table, downloading its file if needed."""
    write_parts([items_table(settings, fetch(settings))], path_to_items, identity)


def read_items(path: str | Path) -> Iterator[Item]:
    """Yield the items of a prepared table in order, a few in memory at a time."""
    table = pl.scan_parquet(path).select("item", "messages")
    for part in slices(table, SLICE):
        yield from (Item(item, tuple(messages)) for item, messages in part.iter_rows())
