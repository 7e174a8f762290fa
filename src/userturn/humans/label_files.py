"""Read files with people's labels, saved by the annotation page or exported by Label Studio."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from userturn.endpoints.response_body import without_surrogates
from userturn.errors import UserError
from userturn.storage.csv_cells import as_written

COLUMNS = ("round", "annotator", "id", "label", "notes")
TRUE, FALSE = ("true", "1", "yes", "wahr"), ("false", "0", "no", "falsch", "")  # also of Excel
UNSURE = "Not sure about this label"  # a choice in Label Studio's interface


class Row(NamedTuple):
    """One label in a file, and its place.

    `unsure` and `seconds` say whether the annotator was unsure and how long the turn was on screen;
    files of older pages lack them.
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
        return without_surrogates(value.strip())  # half an emoji in a note is no reason to lose it
    return "" if value is None else str(value)


def _row(where: str, values: Mapping[str, Any], **known: Any) -> Row:
    found = {**values, **known}
    texts = (_text(found.get(name)) for name in COLUMNS)
    unsure, seconds = _text(found.get("unsure")).lower(), _text(found.get("seconds"))
    return Row._make([where, *texts, unsure in TRUE if unsure else None, _number(seconds)])


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ".")) if text else None
    except ValueError:
        return None


def _separator(text: str) -> str:
    """Return what separates columns: a spreadsheet may have saved semicolons or tabs."""
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)


def _rows_of_csv(path: Path, text: str) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=_separator(text))
    if "turn_id" in (reader.fieldnames or ()):
        raise UserError(f"{path}: a CSV of Label Studio; export the project as JSON instead")
    missing = [name for name in COLUMNS[:-1] if name not in (reader.fieldnames or ())]
    if missing:
        raise UserError(
            f"{path}: the column '{missing[0]}' is missing; expected {', '.join(COLUMNS)}, as the "
            "annotation page saves them"
        )
    for values in reader:
        where = f"{path}, line {reader.line_num}"
        texts = {name: as_written(_text(value)) for name, value in values.items()}
        if texts.get("unsure", "").lower() not in (*TRUE, *FALSE):
            raise UserError(f"{where}: unsure is '{texts['unsure']}', expected true or false")
        yield _row(where, texts)


def _rows_of_page(path: Path, content: Mapping[str, Any]) -> Iterator[Row]:
    known = {"round": content.get("round"), "annotator": content.get("annotator")}
    for number, values in enumerate(content["annotations"], start=1):
        if not isinstance(values, dict):
            raise UserError(f"{path}, annotation {number}: no object with id and label; correct it")
        yield _row(f"{path}, annotation {number}", values, **known)


def _annotator(completed_by: Any) -> str:
    """Return Label Studio's user by number: a study must not contain e-mail addresses."""
    number = completed_by.get("id") if isinstance(completed_by, dict) else completed_by
    return "" if number is None else f"label-studio-{number}"


def _choice(result: Sequence[Mapping[str, Any]], name: str, kind: str) -> list[str]:
    """Return the value of one control of the labelling interface in an annotation."""
    values = [part["value"][kind] for part in result if part.get("from_name") == name]
    return [
        str(text) for value in values for text in (value if isinstance(value, list) else [value])
    ]


def _rows_of_label_studio(path: Path, tasks: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    for number, task in enumerate(tasks, start=1):
        where = f"{path}, task {task.get('id', number)}"
        if "annotations" not in task or "turn_id" not in task.get("data", {}):
            raise UserError(
                f"{where}: no `data` with turn_id and list of `annotations`; export the project as "
                "JSON, not as JSON-MIN or CSV"
            )
        for annotation in task["annotations"]:
            if annotation.get("was_cancelled"):
                continue
            result = annotation.get("result", [])
            labels = _choice(result, "label", "choices")
            yield _row(
                where,
                task["data"],
                id=task["data"]["turn_id"],
                annotator=_annotator(annotation.get("completed_by")),
                label=" and ".join(labels),
                notes="\n".join(_choice(result, "notes", "text")),
                unsure=UNSURE in _choice(result, "unsure", "choices"),
                seconds=annotation.get("lead_time"),
            )


def rows_of_file(path: Path) -> list[Row]:
    """Return the rows of one file.

    Raises:
        UserError: a file of another kind.
    """
    try:
        text = path.read_text("utf-8-sig")
        if path.suffix == ".csv":
            return list(_rows_of_csv(path, text))
        content = json.loads(text)
    except (UnicodeDecodeError, ValueError, csv.Error) as error:
        raise UserError(
            f"{path}: cannot be read ({error}); save it again as CSV or JSON in UTF-8"
        ) from error
    try:
        if isinstance(content, list):
            return list(_rows_of_label_studio(path, content))
        if isinstance(content, dict) and isinstance(content.get("annotations"), list):
            return list(_rows_of_page(path, content))
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path}: not in the form of Label Studio's JSON export ({error!r}); export it again"
        ) from error
    raise UserError(
        f"{path}: neither saved by the annotation page nor exported by Label Studio as JSON; leave "
        "it out of the folder"
    )
