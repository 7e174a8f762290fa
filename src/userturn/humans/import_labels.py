"""Import people's labels: every row of every file is checked; each problem is one sentence.

Unless the config says to skip bad rows, nothing is imported if there is a problem.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from userturn.config.errors import near_miss
from userturn.errors import UserError
from userturn.humans.label_files import COLUMNS, Row, rows_of_file
from userturn.humans.rounds import KEY_SCHEMA
from userturn.judges.rubric import read_rubric
from userturn.judges.verdict import GENUINE
from userturn.logs import say
from userturn.plural import number_of
from userturn.storage.parquet import Schema, write_table

ANNOTATIONS_SCHEMA: Schema = {
    "round": pl.String,
    "annotator": pl.String,
    "id": pl.String,
    "label": pl.String,
    "genuine": pl.Boolean,
    "notes": pl.String,
    **{name: KEY_SCHEMA[name] for name in ("model", "dataset", "temperature", "perturbation")},
    **{name: KEY_SCHEMA[name] for name in ("item", "sample", "key")},
}


IMPORTED_SCHEMA: Schema = {
    **ANNOTATIONS_SCHEMA,  # what tables read: rounds imported without the rest still count
    "unsure": pl.Boolean,
    "seconds": pl.Float64,
}


class Reading(NamedTuple):
    """The usable rows of all files, and the problems of the others."""

    rows: list[Row]
    problems: list[str]


def _problem(row: Row, round_name: str, known: set[str], labels: Iterable[str]) -> str | None:
    """Return the problem with a single row, or None."""
    if row.round != round_name:
        return (
            f"{row.where}: the round is '{row.round}', expected '{round_name}'; put the file into "
            f"data/annotations/{row.round or '<its round>'}/"
        )
    if row.id not in known:
        return (
            f"{row.where}: the id '{row.id}' is not in this round; if a spreadsheet has made it a "
            "number, save the file from the page again, otherwise remove the row"
        )
    if not row.annotator:
        return f"{row.where}: the annotator is missing; write a name or initials into the row"
    if row.label not in labels:
        found = f"'{row.label}'" if row.label else "no label"
        return f"{row.where}: {found} is not in the rubric{near_miss(row.label, labels)}"
    return None


def _check_rows(rows: Sequence[Row], wrong: Callable[[Row], str | None]) -> Reading:
    """Keep the correct rows, and the first for each annotator and id."""
    kept: dict[tuple[str, str], Row] = {}
    problems = []
    for row in rows:
        problem = wrong(row)
        first = kept.get((row.annotator, row.id))
        if problem is None and first is not None:
            problem = (
                f"{row.where}: '{row.annotator}' labels {row.id} again, as {row.label}, and in "
                f"{first.where} as {first.label}; remove one of the two"
            )
        if problem is None:
            kept[row.annotator, row.id] = row
        else:
            problems.append(problem)
    return Reading(list(kept.values()), problems)


def _mixed(path: Path, rows: Sequence[Row]) -> list[str]:
    """Return a problem if a file of the page, made by one person, names several."""
    names = sorted({row.annotator for row in rows if row.annotator})
    if len(names) < 2 or all(name.startswith("label-studio-") for name in names):
        return []
    return [
        f"{path}: has labels of {len(names)} annotators ({', '.join(names)}), expected one; "
        "correct the name, or give each a file of their own"
    ]


def _missing(rows: Sequence[Row], known: set[str]) -> list[str]:
    """Return a problem for each annotator who has not labelled every turn of the round."""
    done: dict[str, set[str]] = {}
    for row in rows:
        done.setdefault(row.annotator, set()).add(row.id)
    return [
        f"annotator '{name}': {len(known - ids)} of {len(known)} turns have no label, the first is "
        f"{min(known - ids)}; finish the round, or set humans.skip_problems"
        for name, ids in sorted(done.items())
        if known - ids
    ]


def read_annotations(
    paths: Sequence[str | Path], key: pl.DataFrame, labels: Iterable[str], round_name: str
) -> Reading:
    """Return the usable rows of a round's files, and one sentence for each problem found.

    Of rows that repeat a label, the first is usable; of a file with several annotators, none is.

    Args:
        paths: CSV and JSON files.
        key: key of the round.
        labels: labels of the rubric.
        round_name: the round that the files must belong to.
    """
    known, labels = set(key["id"]), list(labels)
    rows: list[Row] = []
    problems: list[str] = []
    for path in sorted(map(Path, paths)):
        try:
            found = rows_of_file(path)
        except UserError as error:
            problems.append(str(error))
            continue
        mixed = _mixed(path, found)
        problems += mixed
        rows += [] if mixed else found
    checked = _check_rows(rows, lambda row: _problem(row, round_name, known, labels))
    problems += [*checked.problems, *_missing(checked.rows, known)]
    return Reading(checked.rows, problems)


def annotations_table(rows: Sequence[Row], key: pl.DataFrame) -> pl.DataFrame:
    """Return checked rows with the turns that their ids name, sorted."""
    columns = {name: IMPORTED_SCHEMA[name] for name in (*COLUMNS, "unsure", "seconds")}
    labelled = pl.DataFrame([row[1:] for row in rows], schema=columns, orient="row")
    return (
        labelled.with_columns(genuine=pl.col("label") == GENUINE)
        .join(key.drop("round"), on="id")
        .select(pl.col(name).cast(kind) for name, kind in IMPORTED_SCHEMA.items())
        .sort("annotator", "id")
    )


def how_to_start(round_name: str, n_turns: int) -> str:
    """Return the instruction for a round that has no annotations yet."""
    return (
        f"round '{round_name}' has no annotations yet: have 2 or 3 people label its {n_turns} "
        f"turns in results/humans/{round_name}/task.html, put the files they save into "
        f"data/annotations/{round_name}/ and run the same command again (docs/annotation.md)"
    )


def import_annotations(
    round_name: str,
    skip_problems: bool,
    identity: str,
    paths_to_files: Sequence[str],
    path_to_key: str,
    path_to_rubric: str,
    path_to_annotations: str,
) -> None:
    """Write the labels of one round, or nothing if a row is wrong.

    Raises:
        UserError: every problem found, one sentence per line, unless `skip_problems`.
    """
    key = pl.read_parquet(path_to_key)
    reading = read_annotations(paths_to_files, key, read_rubric(path_to_rubric).labels, round_name)
    if reading.problems and not skip_problems:
        raise UserError(
            f"{number_of(len(reading.problems), 'problem')} in data/annotations/{round_name}/, so "
            "nothing was imported; correct them, or set humans.skip_problems to leave those rows "
            "out\n  " + "\n  ".join(reading.problems)
        )
    for problem in reading.problems:
        say(f"left out: {problem}")
    if not reading.rows and key.height:
        say(how_to_start(round_name, key.height))
    write_table(annotations_table(reading.rows, key), path_to_annotations, identity)
