"""Does every table follow from its inputs, and do its CSV, Markdown and LaTeX files agree with it?

The functions of the pipeline make each table again in a temporary folder.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from userturn.audit.findings import Finding, remake
from userturn.audit.pair import FAULTS
from userturn.audit.table_diff import difference, first_other_line
from userturn.provenance.study_files import Files
from userturn.storage.csv_cells import csv_of
from userturn.study.inputs import RUBRIC
from userturn.study.record import StudyRecord
from userturn.tables.make_tables import Material, make_tables
from userturn.workflow.registry import TABLES, tables_of
from userturn.workflow.study import Study


@dataclass(frozen=True)
class Remaking:
    """The folders of an audited study's tables and of their recomputation."""

    files: Files
    record: StudyRecord
    study: Study
    folder: Path

    def at(self, paths: Sequence[str]) -> list[str]:
        """Return the present paths of some artifacts."""
        return [str(self.files.at(path)) for path in paths]

    def to(self, name: str) -> str:
        """Return the path of a recomputed file."""
        return str(self.folder / name)


def _remake(here: Remaking, rule: str) -> None:
    """Make the tables of a rule again."""
    paths = {name: here.at(found) for name, found in here.study.tables.inputs_of(rule).items()}
    if "rubric" in paths:
        rubric = Path(here.to("rubric.yaml"))
        rubric.write_text(here.record.contents.texts[RUBRIC])
        paths["rubric"] = [str(rubric)]
    made = {
        name: [here.to(f"{name}{ending}") for ending in TABLES[name].formats]
        for name in tables_of(rule)
    }
    make_tables(Material(here.study.grid, paths), "", made)


def _made_of(study: Study, rule: str) -> set[str]:
    return {path for found in study.tables.inputs_of(rule).values() for path in found} - {RUBRIC}


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
    with TemporaryDirectory(prefix="userturn-") as folder:
        here = Remaking(files, record, study, Path(folder))
        for rule in study.tables.rules:
            # Costs are counted in accounts that lie beside the journals.
            can_be_made = files.has_journals or "costs" not in tables_of(rule)
            if can_be_made and broken.isdisjoint(_made_of(study, rule)):
                with suppress(*FAULTS):  # found with the rows
                    _remake(here, rule)
        return [*_compared(here, broken), *_printed(here, broken), *_copies(files, broken)]


def _compared(here: Remaking, broken: frozenset[str]) -> Iterator[Finding]:
    """Compare the present tables with the recomputed ones."""
    for made in sorted(here.folder.glob("*.parquet")):
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
    for made in sorted([*here.folder.glob("*.md"), *here.folder.glob("*.tex")]):
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
