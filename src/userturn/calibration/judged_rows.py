"""Verdicts and labels, each with what names its row, and which column of a table is which."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from userturn.calibration.verdict_rows import EXPECTED, verdict_rows
from userturn.datasets.rows import read_rows
from userturn.errors import UserError
from userturn.humans.labels import PEOPLE
from userturn.storage.files import check_is_file

NAMES: Mapping[str, Sequence[str]] = {  # usual names of columns by role, looked for in this order
    "id": ("id", "doc_id", "sample_id", "item", "item_id", "question_id"),
    "sample": ("sample", "epoch", "repeat"),
    "item": ("item", "cluster", "conversation", "conversation_id"),
    "judge": ("judge", "scorer", "grader"),
    "verdict": ("verdict", "genuine", "correct", "is_correct", "passed", "score", "value"),
    "label": ("label", "human", "human_label", "genuine", "correct", "truth"),
    "annotator": ("annotator", "rater"),
    "stratum": ("stratum",),
}
POOLED = ("dataset", "task")  # groups whose rates are also pooled
BY = ("model", *POOLED)
YES = ("1", "true", "yes", "c", "correct", "pass", "passed", "genuine", "genuine_followup")
NO = ("0", "false", "no", "i", "n", "incorrect", "fail", "failed", "not genuine")


class Columns(NamedTuple):
    """The user's choice of columns, where None is found by name."""

    id: str | None = None  # the column that names a row in both files
    item: str | None = None  # the column of clusters: rows with one value are not independent
    verdict: Sequence[str] = ()  # columns of verdicts in the first file, one per judge if several
    label: str | None = None  # the column of people's labels in the second file
    stratum: str | None = None  # the column of groups from which rows were drawn for people
    by: Sequence[str] | None = None  # the columns that define groups
    positive: Sequence[str] = ()  # the verdicts and labels that are a yes; every other one is a no


def find_column(role: str, named: str | None, columns: Collection[str], file: str) -> str | None:
    """Return the column of a role: `named` if given, else the first with a usual name, else None.

    Raises:
        UserError: there is no column of the name `named`.
    """
    if named is not None:
        if named not in columns:
            raise UserError(
                f"{file}: there is no column '{named}'; it has {', '.join(columns)}: name one of "
                f"these with --{role}"
            )
        return named
    column_of = {name.lower(): name for name in columns}
    return next((column_of[name] for name in NAMES[role] if name in column_of), None)


def needed(role: str, named: str | None, columns: Collection[str], file: str) -> str:
    """Return the column of a role that has to be there, or raise UserError."""
    name = find_column(role, named, columns, file)
    if name is None:
        raise UserError(
            f"{file}: none of its columns ({', '.join(columns)}) is named "
            f"{' or '.join(NAMES[role])}; name the one that is with --{role}"
        )
    return name


def group_columns(named: Sequence[str] | None, columns: Collection[str], file: str) -> list[str]:
    """Return the columns of groups: all of `named` (else UserError), or those of usual names."""
    names = [name for name in BY if name in columns] if named is None else list(named)
    for name in names:
        find_column("by", name, columns, file)
    return names


def yes_or_no(value: Any, positive: Sequence[str]) -> bool | None:
    """Return whether a value is a yes, or None for an empty one.

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
    """Return a value as text to compare: a number in its shortest form, others in lower case."""
    try:
        return f"{float(value):g}"
    except (TypeError, ValueError):
        return str(value).strip().lower()


POSITIVE = "say with --positive which values are a yes"
Names = Mapping[str, str]  # identifies a row: `id`, `sample`, and its group's columns


class Judged(NamedTuple):
    """A verdict on a row, with a problem if it is neither yes nor no."""

    where: str
    names: Names
    item: str
    judge: str
    stratum: str | None
    verdict: bool | None
    problem: str | None


class RowLabel(NamedTuple):
    """A person's label of a row, or None if the row was drawn and not labelled."""

    where: str
    names: Names
    annotator: str
    label: bool | None


def judged_rows(paths: Sequence[Path], columns: Columns) -> tuple[list[Judged], list[str]]:
    """Return the verdicts of some files and the columns of their groups, or raise UserError."""
    placed = [one for path in paths for one in verdict_rows(path)]
    if not placed:
        raise UserError(f"'{paths[0]}' has no verdict; {EXPECTED}")
    head, file = dict.fromkeys(name for _, row in placed for name in row), str(paths[0])
    by = group_columns(columns.by, head, file)
    key = needed("id", columns.id if columns.id in head else None, head, file)
    sample = find_column("sample", None, head, file)
    item = find_column("item", columns.item, head, file) or key
    judge, stratum = (
        find_column("judge", None, head, file),
        find_column("stratum", columns.stratum, head, file),
    )
    chosen: Sequence[str | None] = columns.verdict or [None]
    verdicts = [needed("verdict", name, head, file) for name in chosen]
    return [
        Judged(
            where,
            _named(row, key, sample, by),
            written(row.get(item)),
            _judge(row, judge, column, len(verdicts) > 1),
            (written(row.get(stratum)) or None) if stratum else None,
            *_verdict(row.get(column), columns.positive),
        )
        for where, row in placed
        for column in verdicts
    ], by


def read_labels(path: Path, columns: Columns, by: Sequence[str]) -> Iterator[RowLabel]:
    """Yield people's labels in a file, or raise UserError if a column or row cannot be read."""
    check_is_file(path, "a table of people's labels, such as CSV")
    placed = list(read_rows(path))
    if not placed:
        raise UserError(f"'{path}' has no rows; expected a table of people's labels, such as CSV")
    head, file = dict.fromkeys(name for _, row in placed for name in row), str(path)
    key = needed("id", columns.id, head, file)
    sample, shared = find_column("sample", None, head, file), [name for name in by if name in head]
    label, annotator = (
        needed("label", columns.label, head, file),
        find_column("annotator", None, head, file),
    )
    for where, row in placed:
        verdict, problem = _verdict(row.get(label), columns.positive)
        if problem:
            raise UserError(f"{where}: the label {problem}; {POSITIVE}")
        name = written(row.get(annotator)) if annotator else PEOPLE
        yield RowLabel(where, _named(row, key, sample, shared), name, verdict)


def written(value: Any) -> str:
    """Return a value that names something as text, equal for 3 in JSON and in CSV."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)


def _named(row: Mapping[str, Any], key: str, sample: str | None, by: Sequence[str]) -> Names:
    names = {name: written(row.get(name)) for name in by} | {"id": written(row.get(key))}
    return names | ({"sample": written(row.get(sample))} if sample else {})


def _judge(row: Mapping[str, Any], judge: str | None, column: str, is_one_of: bool) -> str:
    """Return the judge's name, by its column or that of the verdict, or both."""
    parts = [written(row.get(judge))] if judge else []
    return " ".join([*parts, column] if is_one_of or not judge else parts)


def _verdict(value: Any, positive: Sequence[str]) -> tuple[bool | None, str | None]:
    try:
        return yes_or_no(value, positive), None
    except ValueError as error:
        return None, str(error)
