"""The purpose of a dataset's columns, guessed from their names and values.

The guess is for a first study, whose configuration shows it. The entry is like one written by hand,
and passes the same checks.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from userturn.config.dataset_keys import DatasetEntry
from userturn.datasets.items import items_of_row
from userturn.datasets.messages import conversation, unpacked
from userturn.datasets.rows import Row
from userturn.errors import UserError, near_miss
from userturn.grading.numbers import final_reading

# Names of columns with a conversation, its only user message, or the true answer, best first.
MESSAGES = ("messages", "conversation", "conversations", "chat", "dialogue", "dialog")
PROMPTS = ("prompt", "question", "instruction", "query", "problem", "request", "input", "text")
REFERENCES = (
    *("reference", "reference_answer", "answer", "solution", "target"),
    *("expected", "gold", "ground_truth"),
)
NAMES_OF_IDS = ("id", "uid", "item", "question_id", "prompt_id")
INSTRUCTION = "data/instructions/final_answer.txt"  # ends the answer in a line that is graded
PLAIN_NUMBER = re.compile(r"\s*[-+]?[$€£]?[\d.,\s/]*\d\s*%?\s*")
FINAL_NUMBER = "####"  # as GSM8K ends a solution
FORMULA = re.compile(r"\\(?:boxed|d?frac|sqrt|pi\b|left)|\$[^$]+\$")


def guessed_entry(
    rows: Sequence[tuple[str, Row]], named: Mapping[str, str | None], are_all: bool
) -> DatasetEntry:
    """Return the keys of a dataset's entry about its columns: `fields`, verifier, turns.

    Args:
        rows: the first rows of the dataset, with their places.
        named: the columns that the user named, by the key of `fields`.
        are_all: whether the dataset has no more rows. Only then can ids be known to be unique.

    Raises:
        UserError: there is no row, no such column, no column for the prompt, or a row that cannot
            be an item.
    """
    if not rows:
        raise UserError("the dataset has no row; expected at least one: name another by --data")
    where, first = rows[0]
    columns = {key: name for key, name in named.items() if name is not None}
    for key, column in columns.items():
        if column not in first:
            near = near_miss(column, first)
            raise UserError(f"--{key}: '{column}' is not a column of {where}{near}")
    values = [row for _, row in rows]
    fields = {**_asked(first, columns, where), **_reference(first, columns)}
    if are_all and (name := _unique(values)):
        fields = {"id": name, **fields}
    entry: dict[str, Any] = {"fields": fields, "verifier": _verifier(values, fields)}
    if entry["verifier"] != "none":
        entry["instruction"] = INSTRUCTION
    if "messages" in fields and _ends_in_an_answer(first[fields["messages"]], where):
        entry["turns"] = [1]
    for position, row in rows:
        items_of_row(row, entry, position)
    return entry  # type: ignore[return-value]  # a mapping of these keys


def _asked(row: Row, columns: Mapping[str, str], where: str) -> dict[str, str]:
    """Return the column of the prompt or of the conversation, by its key in `fields`."""
    by_name = {name.lower(): name for name in reversed(row)}
    recognised = [by_name[name] for name in (*MESSAGES, *PROMPTS) if name in by_name]
    texts = [name for name, value in row.items() if isinstance(value, str)]
    named = [*([columns["prompt"]] if "prompt" in columns else []), *recognised]
    chosen = next(iter([*named, *(texts if len(texts) == 1 else [])]), None)
    if chosen is None:
        raise UserError(
            f"{where}: no column is known as the prompt, found {', '.join(row)}; name it with "
            "--prompt COLUMN"
        )
    is_talk = isinstance(unpacked(row[chosen], "["), list)
    return {"messages" if is_talk else "prompt": chosen}


def _reference(row: Row, columns: Mapping[str, str]) -> dict[str, str]:
    by_name = {name.lower(): name for name in reversed(row)}
    recognised = (by_name[name] for name in REFERENCES if name in by_name)
    plain = (name for name in recognised if isinstance(row[name], str | int | float | None))
    chosen = columns.get("reference") or next(plain, None)
    return {} if chosen is None else {"reference": chosen}


def _unique(rows: Collection[Row]) -> str | None:
    """Return the name of a column with a different id in every row, or None."""
    for name in NAMES_OF_IDS:
        ids = [row.get(name) for row in rows]
        are_ids = all(isinstance(one, str | int) and one != "" for one in ids)
        if are_ids and len({str(one) for one in ids}) == len(rows):
            return name
    return None


def _verifier(rows: Sequence[Row], fields: Mapping[str, str]) -> str:
    """Return the verifier that references allow: `numeric`, `math`, or `none` in doubt."""
    name = fields.get("reference")
    texts = [str(row[name]) for row in rows if name is not None and row.get(name) is not None]
    if texts and all(map(_is_number, texts)):
        return "numeric"
    return "math" if texts and all(map(FORMULA.search, texts)) else "none"


def _is_number(text: str) -> bool:
    is_plain = PLAIN_NUMBER.fullmatch(text) or FINAL_NUMBER in text
    return bool(is_plain) and len(final_reading(text).values) == 1


def _ends_in_an_answer(messages: Any, where: str) -> bool:
    parsed = conversation(messages, where)
    return bool(parsed) and parsed[-1]["role"] == "assistant"
