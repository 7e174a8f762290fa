"""Does every job that needs no model make the same again from its recorded inputs?

Each job runs in a scratch folder, on the study's own files, by the function that the table of jobs
names. A difference that another version, library or font explains is no finding: the output is
not compared.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import polars as pl

from userturn.audit.findings import (
    COMPARED,
    Finding,
    Item,
    Status,
    Wrong,
    difference,
    first_other_line,
    not_compared,
)
from userturn.config.load import RUBRICS
from userturn.export.remake import COUNTING, REPORT, Remaking
from userturn.html.chart import names_an_address
from userturn.sources.registry import source_jobs
from userturn.storage.table_files import csv_of
from userturn.workflow.job_record import JobRecord
from userturn.workflow.registry import FIGURE_RULES, TABLE_RULES
from userturn.workflow.run_job import outputs_of
from userturn.workflow.study_files import FAULTS, OF_A_RUN, Files

OF_TABLES = (*TABLE_RULES, *FIGURE_RULES, REPORT)
OF_CONTROLS = [rule for rule, job in source_jobs().items() if job.function.startswith("controls.")]
CHECKS = {  # the check to which findings of a rule belong
    **dict.fromkeys(OF_CONTROLS, "controls"),
    "swap_answers": "rows",
    "detect_languages": "rows",
    "sample_for_humans": "samples",
    "import_annotations": "sources",
    "import_pairs": "sources",
    "build_annotation": "pages",
    "build_pair_page": "pages",
    **dict.fromkeys(TABLE_RULES, "tables"),
    **dict.fromkeys(FIGURE_RULES, "figures"),
    REPORT: "pages",
}
CHART, PICTURES = ".vl.json", (".svg", ".png")
LINES = (".md", ".tex")
EXPECTED = {"figures": "a figure of what its tables hold", "pages": "a page of what it shows"}
WRITERS = {  # packages that write other bytes or digits in other versions, by check
    "tables": ("numpy", "polars", "scipy"),
    "figures": ("altair", "numpy", "polars", "vl_convert"),
    "pages": ("altair", "numpy", "polars", "vl_convert"),
}
OTHER_FONTS = "this machine draws figures otherwise, by other fonts"
NO_ACCOUNTS = "it is counted in accounts, which come with the journals"


class Replay(NamedTuple):
    """A study whose jobs are run again, its required paths, and the paths already reported."""

    here: Remaking
    required: frozenset[str]
    broken: frozenset[str]


def replayable(files: Files, of_tables: bool) -> list[str]:
    """Return the record paths of jobs to run again: tables, figures and report, or all others."""
    rules = {rule for rule in CHECKS if (rule in OF_TABLES) == of_tables}
    return [path for path, record in files.readable if record["rule"] in rules]


def check_replay(
    study: Remaking, required: frozenset[str], broken: frozenset[str], jobs: Iterable[str]
) -> list[Item]:
    """Run jobs, named by their records' paths, again; return findings and statuses of outputs."""
    files = study.files
    fetching = [*_fetching(files, broken)]
    unsound = broken | {finding.artifact for finding in fetching}
    items: list[Item] = [*fetching]
    for path in jobs:
        with TemporaryDirectory(prefix="userturn-") as folder:
            here = replace(study, folder=Path(folder))
            items += _replayed(Replay(here, required, unsound), files.records[path] or {})
    return [*_first_causes(files, [*_excuse_fonts(items)])]


def _fetching(files: Files, broken: frozenset[str]) -> Iterator[Finding]:
    """Yield a finding for each figure that would load data from an address."""
    for path in files.hashes:
        if path.endswith(CHART) and path not in broken:
            with suppress(*FAULTS):  # an unreadable one is another check's finding
                if names_an_address(json.loads(files.at(path).read_bytes())):
                    reason = "a `url` in it; it was not drawn"
                    yield Finding("figures", path, "a figure with its own data", reason)


def _replayed(of: Replay, job: JobRecord) -> Iterator[Item]:
    """Run a job again, and compare each of its outputs that this copy has."""
    outputs = [path for path in sorted(job["outputs"]) if path not in of.broken]
    if of.required.isdisjoint(job["outputs"]):
        return  # of cells, tables or a round that the configuration does not ask for
    reason = _why_not(of, job)
    if reason is not None:
        yield from (not_compared(path, *reason) for path in outputs)
        return
    try:
        with redirect_stdout(None):  # a job may print what it did
            of.here.make(job["rule"], **job["wildcards"])
    except FAULTS as error:
        why = _other_version(of.here.files, job, outputs[0])
        if why is not None:
            yield from (not_compared(path, why) for path in outputs)
            return
        path = min(outputs, key=lambda name: (name not in of.required, name))
        expected = "to follow from its inputs"
        yield Finding(CHECKS[job["rule"]], path, expected, type(error).__name__)
        return
    for path in outputs:
        if of.here.files.at(path).is_file():
            yield from _compared(of, job, path)


def _why_not(of: Replay, job: JobRecord) -> tuple[str, bool] | None:
    """Return why a job cannot be run again and whether it could be with another copy, or None."""
    if job["rule"] == COUNTING and not of.here.files.has_journals:
        return NO_ACCOUNTS, True
    try:
        needs = of.here.needs(job["rule"], **job["wildcards"])
        makes = outputs_of(of.here.study, job["rule"], job["wildcards"]).values()
        is_other = all(of.required.isdisjoint(paths) for paths in makes)
    except (SystemExit, *FAULTS):
        is_other = True
    if is_other:  # or it would be made elsewhere
        return "its record names nothing that this study has", True
    for path in needs:
        if path.startswith(OF_A_RUN) or path in RUBRICS:
            continue
        if path in of.here.files.left_out:
            return f"{path} was left out of this copy", False
        if path in of.broken:
            return f"it is made from {path}, which a finding is about", True
        if not of.here.files.at(path).is_file():
            return f"{path} is missing", True
        noted = job["inputs"].get(path)
        if not path.startswith("results/") and of.here.files.hashes.get(path) != noted:
            return f"{path} is not here with the content that the study had", True
    return None


def _compared(of: Replay, job: JobRecord, path: str) -> Iterator[Item]:
    remade, there, check = of.here.folder / path, of.here.files.at(path), CHECKS[job["rule"]]
    if not remade.is_file():
        changed = _other_version(of.here.files, job, path)
        yield not_compared(path, changed or "its job does not make it in this version")
        return
    try:
        wrong = _wrong(remade, there, check)
    except FAULTS as error:
        wrong = "a table" if check == "tables" else "a file of its kind", type(error).__name__
    why = None if wrong is None else _other_version(of.here.files, job, path)
    if why is not None:
        yield not_compared(path, why)
        return
    yield Status(path, COMPARED)
    if wrong is not None:
        yield Finding(check, path, *wrong)


def _wrong(remade: Path, there: Path, check: str) -> Wrong | None:
    if remade.suffix == ".csv":
        copy = csv_of(pl.read_parquet(there.with_suffix(".parquet"))).encode()
        is_equal = copy == there.read_bytes()
        return None if is_equal else (f"the rows of {there.stem}.parquet", "others")
    if remade.read_bytes() == there.read_bytes():
        return None
    if remade.suffix == ".parquet":
        table = pl.read_parquet(remade)
        keys = [name for name in table.columns if table.schema[name] == pl.String][:6]
        wrong = difference(table, pl.read_parquet(there), keys or table.columns[:1])
        return None if wrong is not None and wrong[1].endswith("print the same") else wrong
    if remade.suffix in LINES:
        return first_other_line(remade, there)
    return EXPECTED.get(check, "a file of its inputs"), "another"


def other_version(files: Files, path: str) -> str | None:
    """Return a sentence on the other version of userturn that made a file, or None."""
    commit = files.other_code(path)
    return commit and (
        f"another version of userturn ({commit}) made it, and this one makes it otherwise; audit "
        "with that version, or run `snakemake`, which asks no model"
    )


def _other_version(files: Files, job: JobRecord, path: str) -> str | None:
    """Return which version of userturn or of a package explains a difference, or None.

    No version may change the rows from which turns are made, so their differences count.
    """
    if CHECKS[job["rule"]] == "rows":
        return None
    if (why := other_version(files, path)) is not None:
        return why
    then = job["made"].get("versions", {})
    for name in WRITERS.get(CHECKS[job["rule"]], ()):
        if name in then and then[name] != (now := str(import_module(name).__version__)):
            return f"it was made with {name} {then[name]}, and {name} {now} makes it otherwise"
    return None


def _excuse_fonts(items: list[Item]) -> Iterator[Item]:
    """Replace findings of pictures and of the report by a status if most pictures of a kind differ.

    Other fonts give other bytes, and the report contains parts of the figures.
    """
    wrong = {item.artifact for item in items if isinstance(item, Finding)}
    pictures = [i.artifact for i in items if isinstance(i, Status) and i.state == COMPARED]
    others: set[str] = set()
    for kind in PICTURES:
        of_kind = [path for path in pictures if path.endswith(kind)]
        of_equal = [p for p in of_kind if p.removesuffix(kind) + CHART not in wrong]
        differing = wrong.intersection(of_equal)
        if 2 * len(differing) > len(of_equal):
            others |= differing
    if any(path.endswith(".svg") for path in others):
        others |= {path for path in wrong if path.startswith("results/report/")}
    for item in items:
        if item.artifact not in others:
            yield item
        elif isinstance(item, Status):
            yield not_compared(item.artifact, OTHER_FONTS)


def _first_causes(files: Files, items: list[Item]) -> Iterator[Item]:
    """Replace findings of files whose inputs also differ, so that the first cause is reported."""
    wrong = {item.artifact for item in items if isinstance(item, Finding)}
    causes: dict[str, set[str]] = {path: set() for path in wrong}
    for path in wrong:
        for maker in files.makers.get(path, []):
            causes[path] |= wrong.intersection((files.records[maker] or {}).get("inputs", {}))
    told = {path for path in wrong if not causes[path]}
    for item in items:
        first = causes.get(item.artifact, set())
        if not first:
            yield item
        elif isinstance(item, Status):
            why = f"it is made from {min(first & told or first)}, which a finding is about"
            yield not_compared(item.artifact, why)
