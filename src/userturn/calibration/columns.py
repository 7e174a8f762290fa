"""Which column of a table is which: as an option says, else by its name."""

from collections.abc import Collection, Mapping, Sequence
from math import isnan
from typing import Any, NamedTuple

from userturn.errors import UserError

NAMES: Mapping[str, Sequence[str]] = {  # of the columns that are looked for, in this order
    "id": ("id", "doc_id", "sample_id", "item", "item_id", "question_id"),
    "sample": ("sample", "epoch", "repeat"),
    "item": ("item", "cluster", "conversation", "conversation_id"),
    "judge": ("judge", "scorer", "grader"),
    "verdict": ("verdict", "genuine", "correct", "is_correct", "passed", "score", "value"),
    "label": ("label", "human", "human_label", "genuine", "correct", "truth"),
    "annotator": ("annotator", "rater"),
    "stratum": ("stratum",),
}
POOLED = ("dataset", "task")  # groups of which the rates are also taken together
BY = ("model", *POOLED)
YES = ("1", "true", "yes", "c", "correct", "pass", "passed", "genuine", "genuine_followup")
NO = ("0", "false", "no", "i", "n", "incorrect", "fail", "failed", "not genuine")


class Columns(NamedTuple):
    """What a user says of the columns; what is None is found by name.

    Attributes:
        id: the column that names a row in both files.
        item: the column of what belongs together: rows of one are no more independent than copies.
        verdict: the columns of verdicts in the first file, each a judge if there are several.
        label: the column of people's labels in the second file.
        stratum: the column, in the first file, of the groups from which rows were drawn for people.
        by: the columns by which there are groups.
        positive: the verdicts and labels that are a yes; every other one is a no.
    """

    id: str | None = None
    item: str | None = None
    verdict: Sequence[str] = ()
    label: str | None = None
    stratum: str | None = None
    by: Sequence[str] | None = None
    positive: Sequence[str] = ()


def found(role: str, named: str | None, columns: Collection[str], file: str) -> str | None:
    """Return the column of a role: the one that an option names, else by its name, or None.

    Raises:
        UserError: the option names no column.
    """
    if named is not None:
        if named not in columns:
            raise UserError(
                f"{file}: there is no column '{named}'; it has {', '.join(columns)}: name one of "
                f"these with --{role}"
            )
        return named
    known = {name.lower(): name for name in columns}
    return next((known[name] for name in NAMES[role] if name in known), None)


def needed(role: str, named: str | None, columns: Collection[str], file: str) -> str:
    """Return the column of a role that has to be there.

    Raises:
        UserError: there is none.
    """
    name = found(role, named, columns, file)
    if name is None:
        raise UserError(
            f"{file}: none of its columns ({', '.join(columns)}) is named "
            f"{' or '.join(NAMES[role])}; name the one that is with --{role}"
        )
    return name


def group_columns(named: Sequence[str] | None, columns: Collection[str], file: str) -> list[str]:
    """Return the columns by which there are groups: as named, else model, dataset and task.

    Raises:
        UserError: one that is named is not there.
    """
    wanted = [name for name in BY if name in columns] if named is None else list(named)
    for name in wanted:
        found("by", name, columns, file)
    return wanted


def yes_or_no(value: Any, positive: Sequence[str]) -> bool | None:
    """Return whether a value is a yes; None for an empty one.

    Raises:
        ValueError: it is neither yes nor no, and nobody said which values are a yes.
    """
    if value is None or value == "" or (isinstance(value, float) and isnan(value)):
        return None
    text = _text(value)
    if positive:
        return text in {_text(one) for one in positive}
    if text in YES:
        return True
    if text in NO:
        return False
    raise ValueError(f"'{str(value)[:40]}' is neither yes nor no")


def _text(value: Any) -> str:
    """Return a value as it is compared: numbers as they are written shortest, in lower case."""
    try:
        return f"{float(value):g}"
    except (TypeError, ValueError):
        return str(value).strip().lower()
