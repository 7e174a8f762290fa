"""Read files with people's labels, saved by the annotation page or exported by Label Studio.

A file's kind is recognised by its content, whatever its name. Nothing in it is ignored silently: a
wrong row is a problem, and columns, keys and controls that nothing reads are named.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from userturn.datasets.rows import once, separator
from userturn.endpoints.http_replies import replace_surrogates
from userturn.errors import UserError
from userturn.storage.table_files import as_written

COLUMNS = ("round", "annotator", "id", "label", "notes")
MORE = ("unsure", "seconds")
OF_PAGE = ("format", "round", "annotator", "annotations")
CONTROLS = ("label", "notes", "unsure")  # of Label Studio's interface
TRUE, FALSE = ("true", "1", "yes", "wahr"), ("false", "0", "no", "falsch", "")  # also of Excel
UNSURE = "Not sure about this label"  # a choice in Label Studio's interface


class Row(NamedTuple):
    """One label in a file, and `where` it is, for messages.

    `unsure` says whether the annotator was unsure, and `seconds` how long the turn was on screen.
    Files of older pages lack both.
    """

    where: str
    round: str
    annotator: str
    id: str
    label: str
    notes: str
    unsure: bool | None = None
    seconds: float | None = None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return replace_surrogates(value.strip())  # half an emoji in a note is no reason to lose it
    return "" if value is None else str(value)


class LabelFile(NamedTuple):
    """The correct rows of a file, the problems of its other rows, and keys that nothing reads."""

    rows: list[Row]
    problems: list[str]  # one sentence per wrong row
    unread: list[str]  # columns, keys or controls that nothing reads


def _row(where: str, values: Mapping[str, Any], **fixed: Any) -> Row | str:
    """Return a row, or a sentence that says what is wrong with it."""
    merged = {**values, **fixed}
    texts = (_text(merged.get(name)) for name in COLUMNS)
    unsure, seconds = (_text(merged.get(name)) for name in MORE)
    if unsure.lower() not in (*TRUE, *FALSE):
        return f"{where}: unsure is '{unsure}', expected true or false"
    try:
        number = float(seconds.replace(",", ".")) if seconds else None
        if number is not None and not 0 <= number < inf:
            raise ValueError
    except ValueError:
        return f"{where}: seconds is '{seconds}', expected a number, or nothing"
    return Row._make([where, *texts, unsure.lower() in TRUE if unsure else None, number])


def _head(path: Path, names: Sequence[str]) -> list[str]:
    """Return the names of a CSV's columns in lower case, or raise UserError if some are wrong."""
    head = [name.strip().lower() for name in names]
    if "turn_id" in head:
        raise UserError(f"{path}: a CSV of Label Studio; export the project as JSON instead")
    for name in COLUMNS[:-1]:
        if name not in head:
            raise UserError(
                f"{path}: the column '{name}' is missing; expected {', '.join(COLUMNS)}, as the "
                "annotation page saves them; correct the file, or leave it out of the folder"
            )
    for name in filter(None, head):
        if head.count(name) > 1:
            raise UserError(f"{path}: has the column '{name}' twice; remove the wrong one")
    return head


def _rows_of_csv(path: Path, text: str) -> LabelFile:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator(text.partition("\n")[0]))
    head = _head(path, next(reader, []))
    rows: list[Row | str] = []
    for cells in reader:
        texts = [as_written(_text(cell)) for cell in cells]
        where = f"{path}, line {reader.line_num}"
        if any(texts[len(head) :]):
            rows.append(
                f"{where}: has {len(cells)} cells, expected {len(head)} as the first line; put "
                "quotes around a cell that holds the separator"
            )
        elif any(texts):  # a spreadsheet leaves rows of empty cells
            rows.append(_row(where, dict(zip(head, texts, strict=False))))
    return _file(rows, [name for name in head if name not in (*COLUMNS, *MORE, "")])


def _file(rows: Iterable[Row | str], unread: Iterable[str]) -> LabelFile:
    everything = list(rows)
    return LabelFile(
        [one for one in everything if isinstance(one, Row)],
        [one for one in everything if isinstance(one, str)],
        sorted(set(unread)),
    )


def _rows_of_page(path: Path, content: Mapping[str, Any]) -> LabelFile:
    shared = {"round": content.get("round"), "annotator": content.get("annotator")}
    rows: list[Row | str] = []
    unread = content.keys() - {*OF_PAGE}
    for number, values in enumerate(content["annotations"], start=1):
        where = f"{path}, annotation {number}"
        if isinstance(values, dict):
            rows.append(_row(where, values, **shared))
            unread |= values.keys() - {*COLUMNS[2:], *MORE}
        else:
            rows.append(f"{where}: no object with id and label; correct it")
    return _file(rows, unread)


def _annotator(completed_by: Any) -> str:
    """Return Label Studio's user by number, since a study must not contain e-mail addresses."""
    number = completed_by.get("id") if isinstance(completed_by, dict) else completed_by
    return "" if number is None else f"label-studio-{number}"


def _choice(result: Sequence[Mapping[str, Any]], name: str, kind: str) -> list[str]:
    values = [part["value"][kind] for part in result if part.get("from_name") == name]
    return [
        str(text) for value in values for text in (value if isinstance(value, list) else [value])
    ]


def _rows_of_label_studio(path: Path, tasks: Sequence[Mapping[str, Any]]) -> Iterator[Row | str]:
    for number, task in enumerate(tasks, start=1):
        where = f"{path}, task {task.get('id', number)}"
        if "annotations" not in task or "turn_id" not in task.get("data", {}):
            raise UserError(
                f"{where}: no `data` with turn_id and list of `annotations`; export the project as "
                "JSON, not as JSON-MIN or CSV"
            )
        for annotation in task["annotations"]:
            if annotation.get("was_cancelled") or _is_copy(annotation):
                continue
            result = annotation.get("result", [])
            yield _row(
                where,
                task["data"],
                id=task["data"]["turn_id"],
                annotator=_annotator(annotation.get("completed_by")),
                label=" and ".join(_choice(result, "label", "choices")),
                notes="\n".join(_choice(result, "notes", "text")),
                unsure=UNSURE in _choice(result, "unsure", "choices"),
                seconds=annotation.get("lead_time"),
            )


def _is_copy(annotation: Mapping[str, Any]) -> bool:
    """Return whether an annotation is ground truth, or a reviewer's copy of another annotation."""
    return bool(annotation.get("ground_truth")) or annotation.get("parent_annotation") is not None


def _unread_controls(tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for task in tasks:
        for annotation in task["annotations"]:
            if _is_copy(annotation):
                yield "annotations that are ground truth or a reviewer's copy of another's"
            for part in annotation.get("result", []):
                if part.get("from_name") not in CONTROLS:
                    yield str(part.get("from_name"))


def read_file(path: Path) -> LabelFile:
    """Return the rows and problems of one file, or raise UserError for a file of another kind."""
    try:
        text = path.read_text("utf-8-sig")
        if text.lstrip()[:1] not in ("{", "["):
            return _rows_of_csv(path, text)
        content = json.loads(text, object_pairs_hook=once)
    except (UnicodeDecodeError, ValueError, RecursionError, csv.Error) as error:
        raise UserError(
            f"{path}: cannot be read ({error}); save it again as CSV or JSON in UTF-8, or leave it "
            "out of the folder"
        ) from error
    try:
        if isinstance(content, list):
            return _file(_rows_of_label_studio(path, content), _unread_controls(content))
        if isinstance(content, dict) and isinstance(content.get("annotations"), list):
            return _rows_of_page(path, content)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path}: not in the form of Label Studio's JSON export ({error!r}); export it again"
        ) from error
    raise UserError(
        f"{path}: neither saved by the annotation page nor exported by Label Studio as JSON; leave "
        "it out of the folder"
    )
