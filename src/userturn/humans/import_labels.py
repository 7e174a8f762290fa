"""Import people's labels of turns or pairs: every row of every file is checked.

Each problem is one sentence. If there is any, nothing is imported, unless the config says to leave
those rows out.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import polars as pl

from userturn.errors import UserError, near_miss
from userturn.humans.label_files import COLUMNS, MORE, Row, read_file
from userturn.humans.pairs import PAIR_KEY_SCHEMA, SIDES
from userturn.humans.rounds import KEY_SCHEMA
from userturn.judges.rubric import read_rubric
from userturn.judges.verdict import GENUINE
from userturn.logs import say
from userturn.storage.table_files import TURN_KEYS, Schema, write_table
from userturn.wording import number_of

MANY = 5  # labels from which on two people seem to be one, if all are equal, notes and times too
ANNOTATIONS_SCHEMA: Schema = {
    "round": pl.String,
    "annotator": pl.String,
    "id": pl.String,
    "label": pl.String,
    "genuine": pl.Boolean,
    "notes": pl.String,
    **{name: KEY_SCHEMA[name] for name in (*TURN_KEYS, "key")},
}


IMPORTED_SCHEMA: Schema = {
    **ANNOTATIONS_SCHEMA,  # tables read these, and older rounds have no others
    "unsure": pl.Boolean,
    "seconds": pl.Float64,
}


class Task(NamedTuple):
    """What annotators label: the unit, its labels, and words that describe a label in messages."""

    unit: str
    labels: Sequence[str]
    defined_where: str
    folder: str  # of the round in the results


class Reading(NamedTuple):
    """The usable rows of all files, the problems of the others, and the keys that nothing reads."""

    rows: list[Row]
    problems: list[str]
    unread: Sequence[str] = ()


def turn_task(labels: Iterable[str]) -> Task:
    """Return the task of a round of turns, by the labels of the rubric."""
    return Task("turn", list(labels), "in the rubric", "humans")


def _problem(row: Row, round_name: str, round_ids: set[str], task: Task) -> str | None:
    if row.round != round_name:
        return (
            f"{row.where}: the round is '{row.round}', expected '{round_name}'; put the file into "
            f"data/annotations/{row.round or '<its round>'}/"
        )
    if row.id not in round_ids:
        return (
            f"{row.where}: the id '{row.id}' is not in this round; if a spreadsheet has made it a "
            "number, save the file from the page again, otherwise remove the row"
        )
    if not row.annotator:
        return f"{row.where}: the annotator is missing; write a name or initials into the row"
    if row.label not in task.labels:
        label = f"'{row.label}'" if row.label else "no label"
        near = near_miss(row.label, task.labels)
        return f"{row.where}: {label} is not {task.defined_where}{near}"
    return None


def _check_rows(rows: Sequence[Row], wrong: Callable[[Row], str | None]) -> Reading:
    """Return the correct rows, the first per annotator and id, and the problems of the others."""
    first_rows: dict[tuple[str, str], Row] = {}
    problems = []
    for row in rows:
        problem = wrong(row)
        first = first_rows.get((row.annotator, row.id))
        if problem is None and first is not None:
            problem = (
                f"{row.where}: '{row.annotator}' labels {row.id} again, as {row.label}, and in "
                f"{first.where} as {first.label}; remove one of the two"
            )
        if problem is None:
            first_rows[row.annotator, row.id] = row
        else:
            problems.append(problem)
    return Reading(list(first_rows.values()), problems)


def _mixed(path: Path, rows: Sequence[Row]) -> list[str]:
    """Return a problem if a file of the page, which one person made, names several annotators."""
    names = sorted({row.annotator for row in rows if row.annotator})
    if len(names) < 2 or all(name.startswith("label-studio-") for name in names):
        return []
    return [
        f"{path}: has labels of {len(names)} annotators ({', '.join(names)}), expected one; "
        "correct the name, or give each a file of their own"
    ]


def folded(name: str) -> str:
    """Return a name without case, Unicode form and spaces, which do not tell people apart."""
    return "".join(normalize("NFKC", name).casefold().split())


def _people(reading: Reading) -> Reading:
    """Return a reading without the second of two annotators who seem to be one person.

    They share a name but for its spelling, or all labels, notes and times. One person under two
    names would count as two who agree.
    """
    rows_of_person: dict[str, dict[str, Row]] = {}
    for row in reading.rows:
        rows_of_person.setdefault(row.annotator, {})[row.id] = row
    told = {
        name: {one: (row.label, row.notes, row.unsure, row.seconds) for one, row in rows.items()}
        for name, rows in rows_of_person.items()
    }
    problems, copies = [], set()
    for one, other in combinations(sorted(rows_of_person), 2):
        first, second = (next(iter(rows_of_person[name].values())).where for name in (one, other))
        pair = f"the annotators '{one}' ({first}) and '{other}' ({second})"
        if folded(one) == folded(other):
            problems.append(
                f"{pair} differ by case, Unicode form or spaces alone; write one person's name in "
                "one way, or two people's names so that they differ by more"
            )
        elif len(told[one]) >= MANY and told[one] == told[other]:
            problems.append(
                f"{pair} agree on all of {len(rows_of_person[one])} labels, notes and times: "
                "are they one person's file and its copy? Then remove the copy; if two people did "
                "agree, write so into a note of one of them"
            )
        else:
            continue
        copies.add(other)
    rows = [row for row in reading.rows if row.annotator not in copies]
    return Reading(rows, [*reading.problems, *problems], reading.unread)


def _missing(rows: Sequence[Row], round_ids: set[str], unit: str) -> list[str]:
    done: dict[str, set[str]] = {}
    for row in rows:
        done.setdefault(row.annotator, set()).add(row.id)
    return [
        f"annotator '{name}': {len(round_ids - ids)} of {len(round_ids)} {unit}s have no label, "
        f"the first is {min(round_ids - ids)}; finish the round, or set humans.skip_problems"
        for name, ids in sorted(done.items())
        if round_ids - ids
    ]


def read_annotations(
    paths: Sequence[str | Path], key: pl.DataFrame, task: Task, round_name: str
) -> Reading:
    """Return the usable rows of a round's files, and one sentence for each problem found.

    If rows repeat a label, the first is usable. If a file has several annotators, no row of it is.
    If annotators seem to be one person, the first one's rows are.
    """
    ids = set(key["id"])
    rows: list[Row] = []
    problems: list[str] = []
    unread: list[str] = []
    for path in sorted(map(Path, paths)):
        try:
            rows_of_file = read_file(path)
        except UserError as error:
            problems.append(str(error))
            continue
        mixed = _mixed(path, rows_of_file.rows)
        problems += [*rows_of_file.problems, *mixed]
        rows += [] if mixed else rows_of_file.rows
        unread += [f"{path}: {', '.join(rows_of_file.unread)}"] if rows_of_file.unread else []
    checked = _check_rows(rows, lambda row: _problem(row, round_name, ids, task))
    problems += [*checked.problems, *_missing(checked.rows, ids, task.unit)]
    return _people(Reading(checked.rows, problems, unread))


def annotations_table(rows: Sequence[Row], key: pl.DataFrame) -> pl.DataFrame:
    """Return checked rows with the turns that their ids name, sorted (`IMPORTED_SCHEMA`)."""
    genuine = pl.col("label") == GENUINE
    return _join_key(rows, key, IMPORTED_SCHEMA, genuine=genuine)


def _join_key(
    rows: Sequence[Row], key: pl.DataFrame, schema: Schema, **derived: pl.Expr
) -> pl.DataFrame:
    columns = {name: IMPORTED_SCHEMA[name] for name in (*COLUMNS, *MORE)}
    return (
        pl.DataFrame([row[1:] for row in rows], schema=columns, orient="row")
        .join(key.drop("round"), on="id")
        .with_columns(**derived)
        .select(pl.col(name).cast(kind) for name, kind in schema.items())
        .sort("annotator", "id")
    )


def _checked_rows(
    paths: Sequence[str], key: pl.DataFrame, task: Task, round_name: str, skip_problems: bool
) -> list[Row]:
    """Return the rows of a round's files, or those without a problem if the config says so."""
    reading = read_annotations(paths, key, task, round_name)
    if reading.problems and not skip_problems:
        raise UserError(
            f"{number_of(len(reading.problems), 'problem')} in data/annotations/{round_name}/, so "
            "nothing was imported; correct them, or set humans.skip_problems to leave those rows "
            "out\n  " + "\n  ".join(reading.problems)
        )
    for problem in reading.problems:
        say(f"left out: {problem}")
    for names in reading.unread:
        say(f"nothing reads these columns, keys or controls of {names}")
    if not reading.rows and key.height:
        say(
            f"round '{round_name}' has no annotations yet: have 2 or 3 people label its "
            f"{number_of(key.height, task.unit)} in results/{task.folder}/{round_name}/task.html, "
            f"put the files they save into data/annotations/{round_name}/ and run the same command "
            "again (docs/annotation.md)"
        )
    return reading.rows


def import_annotations(
    round_name: str,
    skip_problems: bool,
    identity: str,
    paths_to_files: Sequence[str],
    path_to_key: str,
    path_to_rubric: str,
    path_to_annotations: str,
) -> None:
    """Write a round's labels, or raise UserError with every problem, unless these are skipped."""
    key, task = pl.read_parquet(path_to_key), turn_task(read_rubric(path_to_rubric).labels)
    rows = _checked_rows(paths_to_files, key, task, round_name, skip_problems)
    write_table(annotations_table(rows, key), path_to_annotations, identity)


PAIRS = Task("pair", SIDES, "a turn of a pair", "pairs")
PAIR_LABELS_SCHEMA: Schema = {
    "round": pl.String,
    "annotator": pl.String,
    "id": pl.String,
    "label": pl.String,
    "model_chosen": pl.Boolean,
    "unsure": pl.Boolean,
    "seconds": pl.Float64,
    "notes": pl.String,
    **{name: PAIR_KEY_SCHEMA[name] for name in (*TURN_KEYS, "key", "conversation")},
}


def import_pairs(
    round_name: str,
    skip_problems: bool,
    identity: str,
    paths_to_files: Sequence[str],
    path_to_key: str,
    path_to_annotations: str,
) -> None:
    """Write the labels of a round of pairs, or raise UserError as `import_annotations` does."""
    key = pl.read_parquet(path_to_key)
    rows = _checked_rows(paths_to_files, key, PAIRS, round_name, skip_problems)
    chosen = pl.col("label") != pl.col("person")
    table = _join_key(rows, key, PAIR_LABELS_SCHEMA, model_chosen=chosen)
    write_table(table, path_to_annotations, identity)
