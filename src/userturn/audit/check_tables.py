"""Does every table say what it is made of says, and does its copy in CSV say the same?

The functions of the pipeline make each table again, in a temporary folder.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from userturn.audit.findings import Finding, remake
from userturn.audit.pair import FAULTS
from userturn.audit.table_diff import difference
from userturn.provenance.study_files import Files
from userturn.study.inputs import RUBRIC
from userturn.study.record import StudyRecord
from userturn.tables.analyse import analyse
from userturn.tables.compare_with_people import compare_with_people
from userturn.tables.controls import tabulate_controls
from userturn.tables.costs import tabulate_costs
from userturn.tables.paper_comparison import compare_with_paper
from userturn.tables.rates import tabulate
from userturn.workflow.artifacts import ANALYSED
from userturn.workflow.study import Study

COMPARED = (
    "rates",
    "accuracy",
    "families",
    "pooled_rates",
    "failure_profiles",
    "contrasts",
    "post_training",
)


@dataclass(frozen=True)
class Remaking:
    """Where the tables of an audited study are, and where they are made again."""

    files: Files
    record: StudyRecord
    study: Study
    folder: Path

    def at(self, paths: Sequence[str]) -> list[str]:
        """Return where some artifacts are now."""
        return [str(self.files.at(path)) for path in paths]

    def to(self, name: str) -> str:
        """Return where a file is made again."""
        return str(self.folder / name)

    def tables(self, names: Sequence[str]) -> dict[str, str]:
        """Return where some tables are, by their names."""
        return {name: str(self.files.at(f"results/tables/{name}.parquet")) for name in names}


def _counted(here: Remaking) -> None:
    names = ("rates", "accuracy", "health")
    paths = {f"path_to_{name}": here.to(f"{name}.parquet") for name in names}
    copies = {f"path_to_{name}_csv": here.to(f"{name}.csv") for name in names}
    summaries, grades = here.at(here.study.summaries), here.at(here.study.grades)
    tabulate(summaries, grades, "", **paths, **copies)


def _analysed(here: Remaking) -> None:
    verdicts, grades = here.at(here.study.all_verdicts), here.at(here.study.grades)
    paths = {name: [here.to(f"{name}.parquet")] for name in ANALYSED}
    analyse(here.study.grid, "", verdicts, grades, paths)


def _controlled(here: Remaking) -> None:
    verdicts = here.at(here.study.controls.verdicts)
    tabulate_controls(verdicts, "", here.to("controls.parquet"), here.to("controls.csv"))


def _compared(here: Remaking) -> None:
    study = here.study
    paths = [here.to("anchors.parquet")]
    compare_with_paper(here.tables(COMPARED), study.primary_judge, "", paths)


def _costed(here: Remaking) -> None:
    study, tables = here.study, here.tables(["rates", "controls"])
    tabulate_costs(
        study.judges.prices,
        "",
        tables["rates"],
        tables["controls"],
        study.grid.accounts_folder,
        here.to("costs.parquet"),
        here.to("judges.parquet"),
        here.to("judges.csv"),
    )


def _labelled(here: Remaking) -> None:
    study, humans = here.study, here.study.humans
    turns, verdicts = here.at(study.all_user_turns), here.at(study.all_verdicts)
    labels, keys = here.at(humans.annotations), here.at(humans.keys)
    rubric = Path(here.to("rubric.yaml"))
    rubric.write_text(here.record.contents.texts[RUBRIC])
    names = ("agreement", "confusion", "disagreements", "corrected_rates")
    paths = {name: [here.to(f"{name}.parquet")] for name in names}
    items = here.at(humans.items)
    compare_with_people(humans, "", turns, verdicts, labels, keys, items, str(rubric), paths)


# What makes tables, and what they are made of.
MAKERS: list[tuple[Callable[[Remaking], None], Callable[[Study], list[str]]]] = [
    (_counted, lambda study: study.summaries + study.grades),
    (_analysed, lambda study: study.all_verdicts + study.grades),
    (_controlled, lambda study: study.controls.verdicts),
    (_compared, lambda _: [f"results/tables/{name}.parquet" for name in COMPARED]),
    (_costed, lambda _: [f"results/tables/{name}.parquet" for name in ("rates", "controls")]),
    (_labelled, lambda study: _of_labels(study)),
]


def _of_labels(study: Study) -> list[str]:
    people = study.humans.annotations + study.humans.keys + study.humans.items
    return study.all_user_turns + study.all_verdicts + people


def check_tables(
    files: Files, record: StudyRecord, study: Study, broken: frozenset[str]
) -> list[Finding]:
    """Return the tables that do not follow from what they are made of.

    Args:
        files: of a results folder.
        record: of the study.
        study: as its record has it.
        broken: artifacts that are missing or altered, and found so.
    """
    with TemporaryDirectory(prefix="userturn-") as folder:
        here = Remaking(files, record, study, Path(folder))
        for make, made_of in MAKERS:
            # Costs are counted in accounts that lie beside the journals.
            if broken.isdisjoint(made_of(study)) and (make is not _costed or files.has_journals):
                with suppress(*FAULTS):  # found with the rows
                    make(here)
        return [*_held(here, broken), *_copies(files, broken)]


def _held(here: Remaking, broken: frozenset[str]) -> Iterator[Finding]:
    """Hold the tables that are there against those that were made again."""
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


def _copies(files: Files, broken: frozenset[str]) -> Iterator[Finding]:
    """Hold each CSV against the Parquet file beside it."""
    paths = [p for p in files.present if p.startswith("results/tables/") and p.endswith(".csv")]
    for path in paths:
        parquet = path.removesuffix("csv") + "parquet"
        if not broken.isdisjoint((path, parquet)) or not files.at(parquet).is_file():
            continue
        with suppress(*FAULTS):  # found above
            copy = pl.read_parquet(files.at(parquet)).write_csv().encode()
            if copy != files.at(path).read_bytes():
                beside = f"the rows of {Path(path).stem}.parquet"
                yield Finding("tables", path, beside, "others", remake(path))
