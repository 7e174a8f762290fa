"""Verdicts and labels, each with what names its row."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from userturn.calibration.columns import Columns, found, group_columns, needed, yes_or_no
from userturn.calibration.verdict_rows import EXPECTED, verdict_rows
from userturn.datasets.rows import read_rows
from userturn.errors import UserError
from userturn.humans.labels import PEOPLE

POSITIVE = "say with --positive which values are a yes"
Names = Mapping[str, str]  # what names a row: `id`, `sample`, and the columns of its group


class Judged(NamedTuple):
    """A verdict, and what is not yes or no as a problem."""

    where: str
    names: Names
    item: str
    judge: str
    stratum: str | None
    verdict: bool | None
    problem: str | None


class Given(NamedTuple):
    """A person's label; None for a row that was drawn and is not labelled."""

    where: str
    names: Names
    annotator: str
    label: bool | None


def judged_rows(paths: Sequence[Path], columns: Columns) -> tuple[list[Judged], list[str]]:
    """Return the verdicts of some files, and the columns of their groups.

    Raises:
        UserError: a file, column or row that cannot be read.
    """
    placed = [one for path in paths for one in verdict_rows(path)]
    if not placed:
        raise UserError(f"'{paths[0]}' has no verdict; {EXPECTED}")
    head, file = dict.fromkeys(name for _, row in placed for name in row), str(paths[0])
    by = group_columns(columns.by, head, file)
    key = needed("id", columns.id if columns.id in head else None, head, file)
    sample = found("sample", None, head, file)
    item = found("item", columns.item, head, file) or key
    judge, stratum = found("judge", None, head, file), found("stratum", columns.stratum, head, file)
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


def given_labels(path: Path, columns: Columns, by: Sequence[str]) -> Iterator[Given]:
    """Yield people's labels in a file.

    Raises:
        UserError: a column or row that cannot be read.
    """
    placed = list(read_rows(path)) if path.is_file() else []
    if not placed:
        raise UserError(f"'{path}' has no rows; expected a table of people's labels, such as CSV")
    head, file = dict.fromkeys(name for _, row in placed for name in row), str(path)
    key = needed("id", columns.id, head, file)
    sample, shared = found("sample", None, head, file), [name for name in by if name in head]
    label, annotator = (
        needed("label", columns.label, head, file),
        found("annotator", None, head, file),
    )
    for where, row in placed:
        verdict, problem = _verdict(row.get(label), columns.positive)
        if problem:
            raise UserError(f"{where}: the label {problem}; {POSITIVE}")
        name = written(row.get(annotator)) if annotator else PEOPLE
        yield Given(where, _named(row, key, sample, shared), name, verdict)


def written(value: Any) -> str:
    """Return a value that names something as text, equal for 3 in JSON and in CSV."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)


def _named(row: Mapping[str, Any], key: str, sample: str | None, by: Sequence[str]) -> Names:
    names = {name: written(row.get(name)) for name in by} | {"id": written(row.get(key))}
    return names | ({"sample": written(row.get(sample))} if sample else {})


def _judge(row: Mapping[str, Any], judge: str | None, column: str, is_one_of: bool) -> str:
    """Return who judged: as its column says, else the column of the verdict."""
    parts = [written(row.get(judge))] if judge else []
    return " ".join([*parts, column] if is_one_of or not judge else parts)


def _verdict(value: Any, positive: Sequence[str]) -> tuple[bool | None, str | None]:
    try:
        return yes_or_no(value, positive), None
    except ValueError as error:
        return None, str(error)
