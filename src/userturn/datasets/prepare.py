"""Prepare datasets as items: conversations that end in a user message, with the data to grade them.

Prepared tables have one row per item, sorted by id: `item` (id), `messages` (list of role and
content), `reference_answer`, `verifier_arguments` (JSON), `reference_context` (messages up to the
dataset's own first answer that a person replied to) and `reference_user_turn` (that reply), null if
there is none. The last two are only for controls and likelihood: no judge of model turns sees them.
If an entry has `turns`, there are also `conversation` and `turn`, the number of the user turn that
the item ends in. With `language: all` there are `language` (the dataset's, else detected),
`problem` (the same in several languages), and `language_detector` (none for langdetect).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import polars as pl

from userturn.config.entries import EVERY_LANGUAGE, Files, entries_by_language, is_streamed
from userturn.config.load import DETECTOR_KEY, FORMER_DETECTOR, detector_of
from userturn.datasets.fetch import fetch, hub_rows, local_file, noted_if_unusable
from userturn.datasets.items import identified, items_of_row
from userturn.datasets.language import detected, language_code, likeliest
from userturn.datasets.messages import answer_to, unread_keys
from userturn.datasets.rows import OF_MODELS, Row, column, named_columns, read_rows
from userturn.datasets.turns import TURN_COLUMNS, items_by_turn
from userturn.errors import UserError
from userturn.logs import say
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import SLICE, Schema, slices, write_parts
from userturn.wording import number_of

MESSAGE = pl.Struct({"role": pl.String, "content": pl.String})
SCHEMA: Schema = {
    "item": pl.String,
    "messages": pl.List(MESSAGE),
    "reference_answer": pl.String,
    "verifier_arguments": pl.String,
    "reference_context": pl.List(MESSAGE),
    "reference_user_turn": pl.String,
}
MOST_WRONG = 100  # if so many first rows of a split are all faulty, its entry is wrong
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
    """Return an item's sort key for the subsample, which depends on no other item."""
    return fingerprint([seed, item])


def _stated_language(item: Row) -> str | None:
    language = item.get("language")
    return None if language is None else language_code(language)


def _is_in_language(item: Row, settings: Mapping[str, Any]) -> bool:
    language, detector = str(settings["language"]), detector_of(settings)
    if (stated := _stated_language(item)) is not None:
        return stated == language_code(language)
    code = language if detector == FORMER_DETECTOR else language_code(language)
    return likeliest(user_text(item), detector) == code


def _conversation(item: Row) -> str:
    return str(item.get("conversation", item["item"]))


def _limit_each_language(items: Sequence[Row], settings: Mapping[str, Any]) -> Iterator[Row]:
    """Yield items with their language, at most `limit` conversations per language.

    The subsample has the same problems in each language.
    """
    if "limit" in settings:
        names = {item["item"]: item.get("problem") or _conversation(item) for item in items}
        items = sorted(items, key=lambda item: rank(settings["seed"], names[item["item"]]))
    items_by_language: dict[str | None, set[str]] = {}
    detector = detector_of(settings)
    for item in items:
        language = _stated_language(item) or detected(user_text(item), detector).language
        items_of_language = items_by_language.setdefault(language, set())
        if (
            len(items_of_language) < settings.get("limit", len(items_of_language) + 1)
            or _conversation(item) in items_of_language
        ):
            items_of_language.add(_conversation(item))
            yield item | {"language": language, DETECTOR_KEY: detector}


def select(items: Sequence[Row], settings: Mapping[str, Any]) -> list[Row]:
    """Return the items of the configured language and subsample, sorted by id.

    The subsample is the `limit` items that rank first by the hash of seed and id, so that rows
    added to the file replace few of its items, and reordered rows none. With `turns` it is `limit`
    conversations, each with all its items.
    """
    chosen: Iterable[Row] = items
    if settings.get("language") == EVERY_LANGUAGE:
        return sorted(_limit_each_language(items, settings), key=lambda item: item["item"])
    if "limit" in settings:
        chosen = sorted(items, key=lambda item: rank(settings["seed"], _conversation(item)))
    if "language" in settings:
        chosen = (item for item in chosen if _is_in_language(item, settings))
    together = islice(groupby(chosen, key=_conversation), settings.get("limit"))
    return sorted((item for _, group in together for item in group), key=lambda item: item["item"])


class RowAccount:
    """The account of a dataset's rows: which became items, and which did not.

    The rows of a hub split are read as far as `limit` needs, and nobody can correct them. So a row
    that cannot be an item is only counted there, and refused elsewhere.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.n_rows = self.n_conversations = 0
        self.faults: list[str] = []
        self.unread: set[str] = set()
        self.unread_columns: set[str] = set()
        self.not_named = {*OF_MODELS} - {*named_columns(settings)}

    def items(self, rows: Iterable[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
        """Yield the items of rows with their places."""
        is_short = is_streamed(self.settings) and self.settings.get("language") != EVERY_LANGUAGE
        limit = self.settings.get("limit") if is_short else None
        for where, row in rows:
            self.n_rows += 1
            items = self._items_of_row(where, row)
            yield from ((where, item) for item in items)
            self.n_conversations += any(map(self._counts, items))
            if self.n_conversations == limit:
                return

    def _items_of_row(self, where: str, row: Row) -> list[Row]:
        fields = self.settings["fields"]
        try:
            items = items_of_row(row, self.settings, where)
        except UserError as error:
            self.faults.append(str(error))
            if not is_streamed(self.settings):
                raise
            if len(self.faults) == self.n_rows == MOST_WRONG:
                raise UserError(self.faults[0]) from error
            return []
        self.unread_columns |= {name for name in self.not_named if row.get(name)}
        if "messages" in fields:
            messages = column(row, fields["messages"], where)
            self.unread |= unread_keys(messages, self.settings.get("roles", {}))
        return items

    def _counts(self, item: Row) -> bool:
        language = self.settings.get("language", EVERY_LANGUAGE)
        return language == EVERY_LANGUAGE or _is_in_language(item, self.settings)

    @property
    def notes(self) -> list[str]:
        """One sentence per kind of row, key or column that was left out."""
        notes = []
        if self.faults:
            n = number_of(len(self.faults), "row")
            notes.append(f"{n} of {self.n_rows} left out, the first: {self.faults[0]}")
        for what, names in (("keys of messages", self.unread), ("columns", self.unread_columns)):
            if names:
                notes.append(f"nothing reads these {what}: {', '.join(sorted(names))}")
        return notes


def _rows(files: Files, settings: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    named = [*named_columns(settings), *OF_MODELS]
    if is_streamed(settings):
        yield from hub_rows(settings, named)
    for spoken, path in files.items():
        rows = read_rows(path, settings.get("columns"), named)
        for number, (where, row) in enumerate(rows, start=1):
            yield where, row if spoken is None else {"language": spoken, "row": number} | row


def read_dataset(
    path: Path | Files, settings: Mapping[str, Any], notes: list[str] | None = None
) -> list[Row]:
    """Return the items of a dataset's file, of its files by language, or of its hub split.

    A split needs no path. Sentences about rows and columns that were left out are added to `notes`.

    Raises:
        UserError: a row cannot be an item, the number of rows is not the pinned one, or no item is
            left.
    """
    files: Files = {None: path} if isinstance(path, Path) else path
    named = ", ".join(f"'{file}'" for file in files.values()) or f"'{settings.get('hub')}'"
    selection = RowAccount(settings)
    items = list(
        identified(selection.items(_rows(files, settings)), settings.get("content_ids", 1))
    )
    if "turns" in settings:
        items = list(items_by_turn(items))
    if selection.n_rows != settings.get("rows", selection.n_rows):
        raise UserError(
            f"{named}: found {selection.n_rows} rows, expected {settings['rows']}; download the "
            "pinned file again, or correct `rows` in the dataset's entry"
        )
    if not selection.n_rows:
        raise UserError(f"{named} has no rows; fetch it again, or correct `file` in its entry")
    selected = select(items, settings)
    if not selected:
        raise UserError(
            f"{named}: none of the {selection.n_rows} rows gives an item; correct `file`, "
            "`language` or `condition` in the dataset's entry"
        )
    if notes is not None:
        notes += selection.notes
    return selected


def fetched(settings: Mapping[str, Any]) -> dict[str | None, Path]:
    """Return a dataset's files by language, None for a single one, downloaded if not in a cache."""
    return {spoken: fetch(one) for spoken, one in entries_by_language(settings).items()}


def files_at_hand(settings: Mapping[str, Any]) -> dict[str | None, Path] | None:
    """Return the paths of a dataset's files if all are local or in the hub's cache, else None.

    It is None for a split of the hub, which is read from there each time.
    """
    if is_streamed(settings):
        return None
    paths = {spoken: local_file(one) for spoken, one in entries_by_language(settings).items()}
    here = {spoken: path for spoken, path in paths.items() if path is not None}
    return here if len(here) == len(paths) else None


def items_table(
    settings: Mapping[str, Any], files: Path | Files, notes: list[str] | None = None
) -> pl.DataFrame:
    """Return a dataset's items as the prepared table, or raise UserError as `read_dataset`."""
    items = read_dataset(files, settings, notes)
    for item in items if "instruction" in settings else ():
        *before, last = item["messages"]
        question = {"role": "user", "content": f"{last['content']}{settings['instruction']}"}
        item["messages"] = [*before, question]
    more: Schema = TURN_COLUMNS if "turns" in settings else {}
    if settings.get("language") == EVERY_LANGUAGE:
        more = {**more, **LANGUAGE_COLUMNS, **(DETECTOR_COLUMN if DETECTOR_KEY in settings else {})}
    return pl.DataFrame(items, schema={**SCHEMA, **more})


def prepare_dataset(settings: Mapping[str, Any], identity: str, path_to_items: str | Path) -> None:
    """Write a dataset's items as the prepared table, downloading its file if needed."""
    files, name = fetched(settings), Path(path_to_items).stem
    notes: list[str] = []
    with noted_if_unusable(name, identity):
        table = items_table(settings, files, notes)
    for note in notes:
        say(f"{name}: {note}")
    write_parts([table], path_to_items, identity)


def read_items(path: str | Path) -> Iterator[Item]:
    """Yield the items of a prepared table in order, a few in memory at a time."""
    table = pl.scan_parquet(path).select("item", "messages", "reference_context")
    for part in slices(table, SLICE):
        for item, messages, context in part.iter_rows():
            yield Item(item, tuple(messages), answer_to(messages, context))
