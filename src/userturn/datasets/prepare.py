"""Prepare datasets as items: conversations that end in a user message, with the data to grade them.

Prepared tables have one row per item, sorted by id: `item` (id), `messages` (list of role and
content), `reference_answer`, `verifier_arguments` (JSON), `reference_context` (messages up to the
dataset's own first answer) and `reference_user_turn` (the human reply to it), null if there is
none. The last two are only for controls and likelihood; judges of model turns never see them.
Where an entry has `turns`, there are also `conversation` and `turn`, the number of the user turn
that the item ends in; with `language: all`, `language`, as the dataset says, else detected,
`problem`, the same for a problem in several languages, and `detector`, what told languages.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import polars as pl

from userturn.config.dataset_files import EVERY_LANGUAGE, Files, by_language
from userturn.config.own_detector import DETECTOR_KEY, FORMER_DETECTOR, detector_of
from userturn.datasets.fetch import at_hand, fetch
from userturn.datasets.items import identified, items_of_row
from userturn.datasets.language import detected, likeliest
from userturn.datasets.language_codes import language_code
from userturn.datasets.messages import answer_to
from userturn.datasets.rows import Row, read_rows
from userturn.datasets.turns import TURN_COLUMNS, items_by_turn
from userturn.datasets.unusable import noted_if_unusable
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
LANGUAGE_COLUMNS: Schema = {"language": pl.String, "problem": pl.String}
DETECTOR_COLUMN: Schema = {DETECTOR_KEY: pl.String}  # absent where langdetect tells languages


@dataclass(frozen=True)
class Item:
    """One conversation of a dataset, ending in a user message.

    `reference` is the dataset's own answer to these messages, if a person replied to it.
    """

    id: str
    messages: tuple[dict[str, str], ...]
    reference: str | None = None


def user_text(item: Row) -> str:
    """Return the text of all user messages in an item."""
    return "\n".join(m["content"] for m in item["messages"] if m["role"] == "user")


def rank(seed: int, item: str) -> str:
    """Return an item's sort key for the subsample; it depends on no other item."""
    return fingerprint([seed, item])


def _given_language(item: Row) -> str | None:
    given = item.get("language")
    return None if given is None else language_code(given)


def _is_wanted(item: Row, settings: Mapping[str, Any]) -> bool:
    given, wanted = _given_language(item), str(settings["language"])
    if given is None:
        detector = detector_of(settings)
        found = likeliest(user_text(item), detector)
        return found == (wanted if detector == FORMER_DETECTOR else language_code(wanted))
    return given == language_code(wanted)


def _conversation(item: Row) -> str:
    return str(item.get("conversation", item["item"]))


def _in_every_language(items: Sequence[Row], settings: Mapping[str, Any]) -> Iterator[Row]:
    """Yield items with their language; `limit` counts the conversations of each language.

    The subsample has the same problems in each language.
    """
    if "limit" in settings:
        names = {item["item"]: item.get("problem") or _conversation(item) for item in items}
        items = sorted(items, key=lambda item: rank(settings["seed"], names[item["item"]]))
    taken: dict[str | None, set[str]] = {}
    detector = detector_of(settings)
    for item in items:
        found = _given_language(item) or detected(user_text(item), detector).language
        known = taken.setdefault(found, set())
        if len(known) < settings.get("limit", len(known) + 1) or _conversation(item) in known:
            known.add(_conversation(item))
            yield item | {"language": found, DETECTOR_KEY: detector}


def select(items: Sequence[Row], settings: Mapping[str, Any]) -> list[Row]:
    """Return the items of the configured language and subsample, sorted by id.

    The subsample is the `limit` items that rank first by the hash of seed and id, so that rows
    added to the file replace few of its items, and reordered rows none. With `turns` it is `limit`
    conversations, each with all its items.
    """
    chosen: Iterable[Row] = items
    if settings.get("language") == EVERY_LANGUAGE:
        return sorted(_in_every_language(items, settings), key=lambda item: item["item"])
    if "limit" in settings:
        chosen = sorted(items, key=lambda item: rank(settings["seed"], _conversation(item)))
    if "language" in settings:
        chosen = (item for item in chosen if _is_wanted(item, settings))
    together = islice(groupby(chosen, key=_conversation), settings.get("limit"))
    return sorted((item for _, group in together for item in group), key=lambda item: item["item"])


def _rows(files: Files, settings: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    """Yield the rows of all files, those of a language's file with `language` and `row`."""
    for spoken, path in files.items():
        for number, (where, row) in enumerate(read_rows(path, settings.get("columns")), start=1):
            yield where, row if spoken is None else {"language": spoken, "row": number} | row


def read_dataset(path: Path | Files, settings: Mapping[str, Any]) -> list[Row]:
    """Read a dataset's file, or its files by language, into items of the prepared schema.

    Raises:
        UserError: a row cannot be an item, the number of rows is not the pinned one, or no item is
            left.
    """
    n_rows = 0
    files: Files = {None: path} if isinstance(path, Path) else path
    named = ", ".join(f"'{file}'" for file in files.values())

    def placed() -> Iterator[tuple[str, Row]]:
        nonlocal n_rows
        for where, row in _rows(files, settings):
            n_rows += 1
            for item in items_of_row(row, settings, where):
                yield where, item

    items = list(identified(placed(), settings.get("content_ids", 1)))
    if "turns" in settings:
        items = list(items_by_turn(items))
    if n_rows != settings.get("rows", n_rows):
        raise UserError(
            f"{named}: found {n_rows} rows, expected {settings['rows']}; download the pinned file "
            "again, or correct `rows` in the dataset's entry"
        )
    if not n_rows:
        raise UserError(f"{named} has no rows; fetch it again, or correct `file` in its entry")
    selected = select(items, settings)
    if not selected:
        raise UserError(
            f"{named}: none of the {n_rows} rows gives an item; correct `file`, `language` or "
            "`condition` in the dataset's entry"
        )
    return selected


def _with_instruction(item: Row, instruction: str) -> Row:
    *before, last = item["messages"]
    asked = {"role": "user", "content": f"{last['content']}{instruction}"}
    return item | {"messages": [*before, asked]}


def fetched(settings: Mapping[str, Any]) -> dict[str | None, Path]:
    """Return a dataset's files by language, downloaded if the hub's cache does not have them."""
    return {spoken: fetch(one) for spoken, one in by_language(settings).items()}


def files_at_hand(settings: Mapping[str, Any]) -> dict[str | None, Path] | None:
    """Return a dataset's files if all are local or in the hub's cache; never download any."""
    found = {spoken: at_hand(one) for spoken, one in by_language(settings).items()}
    here = {spoken: path for spoken, path in found.items() if path is not None}
    return here if len(here) == len(found) else None


def items_table(settings: Mapping[str, Any], files: Path | Files) -> pl.DataFrame:
    """Return a dataset's items as the prepared table.

    Raises:
        UserError: as `read_dataset`.
    """
    items = read_dataset(files, settings)
    if "instruction" in settings:
        items = [_with_instruction(item, settings["instruction"]) for item in items]
    more: Schema = TURN_COLUMNS if "turns" in settings else {}
    if settings.get("language") == EVERY_LANGUAGE:
        more = {**more, **LANGUAGE_COLUMNS, **(DETECTOR_COLUMN if DETECTOR_KEY in settings else {})}
    return pl.DataFrame(items, schema={**SCHEMA, **more})


def prepare_dataset(settings: Mapping[str, Any], identity: str, path_to_items: str | Path) -> None:
    """Write a dataset's items as the prepared table, downloading its file if needed."""
    files = fetched(settings)
    with noted_if_unusable(Path(path_to_items).stem, identity):
        table = items_table(settings, files)
    write_parts([table], path_to_items, identity)


def read_items(path: str | Path) -> Iterator[Item]:
    """Yield the items of a prepared table in order, a few in memory at a time."""
    table = pl.scan_parquet(path).select("item", "messages", "reference_context")
    for part in slices(table, SLICE):
        for item, messages, context in part.iter_rows():
            yield Item(item, tuple(messages), answer_to(messages, context))
