"""Does every table follow from its inputs, and do its CSV, Markdown and LaTeX files agree with it?

So do the numbers of an archive's claims sheet.

The functions of the pipeline make each table again in a temporary folder.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from userturn.audit.findings import Finding, remake
from userturn.audit.table_diff import difference, first_other_line
from userturn.provenance.study_files import FAULTS, Files
from userturn.remake.claims import SHEET, claims_sheet, numbers_of
from userturn.remake.make_again import COUNTING, Remaking
from userturn.storage.csv_cells import csv_of
from userturn.study.record import StudyRecord
from userturn.workflow.registry import paths_of, tables_of
from userturn.workflow.run_job import identity_of
from userturn.workflow.study import Study


def check_tables(
    files: Files, record: StudyRecord, study: Study, broken: frozenset[str]
) -> list[Finding]:
    """Return the tables that do not follow from their inputs.

    Args:
        files: the files of a results folder.
        record: record of the study.
        study: the study of that record.
        broken: artifacts that were already reported as missing or altered.
    """
    failed: list[Finding] = []
    with TemporaryDirectory(prefix="userturn-") as folder:
        here = Remaking(files, record, study, Path(folder), from_made=False)
        for rule in study.tables.rules:
            can_be_made = files.has_journals or rule != COUNTING
            if can_be_made and broken.isdisjoint(here.needs(rule)):
                try:
                    here.make(rule)
                except FAULTS as error:
                    failed.append(_not_made(rule, error))
        compared = [
            *failed,
            *_compared(here, broken),
            *_printed(here, broken),
            *_copies(files, broken),
        ]
        compared += [*_unnamed(here)]
    return [*compared, *_claims(files, broken | {finding.artifact for finding in compared})]


def _not_made(rule: str, error: Exception) -> Finding:
    """Return that a table cannot be made again: what it is made of was altered, hashes too."""
    path = paths_of(tables_of(rule)[0])[0]
    return Finding("tables", path, "made of what it counts", type(error).__name__, remake(path))


def _unnamed(here: Remaking) -> Iterator[Finding]:
    """Yield what the tables of this version were made from if their records do not name it."""
    tables = here.study.tables
    for rule in tables.rules:
        record = here.files.records.get(f"results/provenance/{rule}.json")
        if record is None or record["identity"] != identity_of(here.study, rule):
            continue
        made, unnamed = min(record["outputs"]), {*here.needs(rule)} - {*record["inputs"]}
        if unnamed and here.files.other_code(made) is None:
            noted = "its record does not name it"
            yield Finding("chain", made, f"made from {min(unnamed)}", noted, remake(made))


def _compared(here: Remaking, broken: frozenset[str]) -> Iterator[Finding]:
    """Compare the present tables with the recomputed ones."""
    for made in sorted(here.folder.glob("results/tables/*.parquet")):
        path = f"results/tables/{made.name}"
        if path in broken:
            continue
        table = pl.read_parquet(made)
        keys = [name for name in table.columns if table.schema[name] == pl.String][:6]
        try:
            there = pl.read_parquet(here.files.at(path))
            wrong = difference(table, there, keys or table.columns[:1])
        except FAULTS as error:
            wrong = "a table", type(error).__name__
        if wrong is not None:
            yield Finding("tables", path, *wrong, remake(path))


def _printed(here: Remaking, broken: frozenset[str]) -> Iterator[Finding]:
    """Compare the Markdown and LaTeX forms of tables with the recomputed ones."""
    printed = (here.folder.glob(f"results/tables/*{ending}") for ending in (".md", ".tex"))
    for made in sorted(path for found in printed for path in found):
        path = f"results/tables/{made.name}"
        there = here.files.at(path)
        if path not in broken and there.is_file() and there.read_bytes() != made.read_bytes():
            yield Finding("tables", path, *first_other_line(made, there), remake(path))


def _copies(files: Files, broken: frozenset[str]) -> Iterator[Finding]:
    """Compare each CSV with the Parquet file beside it."""
    paths = [p for p in files.present if p.startswith("results/tables/") and p.endswith(".csv")]
    for path in paths:
        parquet = path.removesuffix("csv") + "parquet"
        if not broken.isdisjoint((path, parquet)) or not files.at(parquet).is_file():
            continue
        with suppress(*FAULTS):  # reported above
            copy = csv_of(pl.read_parquet(files.at(parquet))).encode()
            if copy != files.at(path).read_bytes():
                beside = f"the rows of {Path(path).stem}.parquet"
                yield Finding("tables", path, beside, "others", remake(path))


def _claims(files: Files, broken: frozenset[str]) -> Iterator[Finding]:
    """Compare the numbers of an archive's claims sheet with those of its tables.

    Another version may name other rows, so only those are compared that both have.
    """
    sheet = files.at(SHEET)
    if not sheet.is_file():
        return
    try:
        said = numbers_of(sheet.read_text(encoding="utf-8"))
        made = numbers_of(claims_sheet(files.results))
    except FAULTS:
        return  # reported above, or not our sheet
    for (file, row), number in said.items():
        found = made.get((file, row), number)
        if found != number and broken.isdisjoint((file, file.replace(".csv", ".parquet"))):
            expected, noted = (f"{shown} of {n}" for shown, n in (found, number))
            fix = "export the study again: its sheet is written from its tables"
            yield Finding("tables", SHEET, f"{expected} in row {row} of {file}", noted, fix)
