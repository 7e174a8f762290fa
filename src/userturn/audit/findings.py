"""Findings and notes of an audit, and how a table differs from the same table made again.

No finding shows a text of a dataset.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from shlex import quote

import polars as pl

# An audit writes the study's configuration there: its commands plan this study and no other.
CONFIG = "results/audit/config.yaml"
SNAKEMAKE = f"snakemake --configfile {CONFIG} --cores all"
COMPARED, ROOT, OTHER = "compared", "a root", "not compared"


@dataclass(frozen=True, order=True)
class Finding:
    """A fault of an artifact. `artifact` is its path from the project's folder.

    `fix` is a command or an instruction, by default the command that makes the artifact again.
    """

    check: str
    artifact: str
    expected: str
    found: str
    fix: str = ""

    def __post_init__(self) -> None:
        """Set the default of `fix`."""
        object.__setattr__(self, "fix", self.fix or remake(self.artifact))


@dataclass(frozen=True, order=True)
class Note:
    """A fact that a reader should know and that is not a fault."""

    check: str
    artifact: str
    text: str


@dataclass(frozen=True)
class Status:
    """The state of an artifact: `COMPARED` (with or without a finding), `ROOT` or `OTHER`.

    `could_be` says whether another copy, machine or version could compare it.
    """

    artifact: str
    state: str
    why: str = ""
    could_be: bool = False


def not_compared(artifact: str, why: str, could_be: bool = True) -> Status:
    """Return the status of an artifact that was not compared, with the reason."""
    return Status(artifact, OTHER, why, could_be)


Item = Finding | Note | Status


def remake(path: str) -> str:
    """Return the command, or instruction, that mends an artifact and all that depends on it."""
    if path.startswith("results/requests/"):
        plan = PurePosixPath(path)
        marker = f"results/sweeps/{plan.parts[2]}/{plan.stem}.json"  # without a plan: planned again
        again = f"{SNAKEMAKE} --force {quote(marker)} && {SNAKEMAKE}"
        return f"rm -rf {quote(str(plan.parent))} && {again}"
    if path.startswith("results/leases/"):
        return f"rm {quote(path)}"
    if path.startswith("results/sweeps/") and "/finished/" in path:
        marker = path.replace("/finished/", "/", 1)  # its sweep writes the note, and asks nothing
        return f"rm -f {quote(path)} && {SNAKEMAKE} --force {quote(marker)} && {SNAKEMAKE}"
    if path.endswith("/annotations.parquet"):  # the record says which files of labels there are
        return f"{SNAKEMAKE} --force results/study.json {quote(path)} && {SNAKEMAKE}"
    if path == "results/study.json":  # the configuration that the commands use
        return f"restore {path} from a copy, or run snakemake with the configuration of the study"
    # Snakemake is asked for what the job of these is named by.
    asked_as = path.replace("results/revisions/", "results/models/", 1)
    asked_as = asked_as.replace("results/served/", "results/sweeps/", 1)
    if path.startswith("results/report/"):
        asked_as = "results/report/index.html"
    return f"{SNAKEMAKE} --force {quote(asked_as)} && {SNAKEMAKE}"


def name_present_sweeps(finding: Finding, sweeps: Mapping[str, Sequence[str]]) -> Finding:
    """Return a finding whose fix names its model's present sweeps, or asks for the model.

    A fix that forces no sweep stays. Others may name model and shard as journal and plans do.
    `sweeps` has the paths of each model's markers, by the name under which it was first asked.
    """
    marker = re.search(r"(?<=--force )results/sweeps/([^/]+)/[^ ]+", finding.fix)
    if marker is None:
        return finding
    if marker[1] not in sweeps:
        fix = f"restore it from a copy, or select the model {marker[1]} again and audit again"
        return replace(finding, fix=fix)
    now = " ".join(map(quote, sweeps[marker[1]]))
    return replace(finding, fix=finding.fix.replace(marker[0], now, 1))


SHOWN = (pl.Boolean, pl.Int64, pl.Int32, pl.Float64, pl.UInt32)  # columns that quote no dataset
Wrong = tuple[str, str]  # expected and found


def difference(remade: pl.DataFrame, there: pl.DataFrame, keys: Sequence[str]) -> Wrong | None:
    """Return how a table differs when made again, as (expected, found); None if equal."""
    if remade.schema != there.schema:
        return f"columns {', '.join(remade.columns)}", f"columns {', '.join(there.columns)}"
    if remade.equals(there):
        return None
    if remade.height != there.height:
        twice = there.filter(there.select(keys).is_duplicated())
        more = f", {_row_name(twice, keys, 0)} twice" if twice.height else ""
        return f"{remade.height} rows", f"{there.height} rows{more}"
    for name in remade.columns:
        same = remade[name].eq_missing(there[name])
        if not same.all():
            row = same.arg_min() or 0
            expected, actual = (
                f" {table[name][row]}" if remade.schema[name] in SHOWN else ""
                for table in (remade, there)
            )
            where = f"{name} of {_row_name(there, keys, row)}"
            return f"{where}{expected or ', as made again'}", actual.strip() or "another content"
    return "the same values", "others that print the same"


def _row_name(table: pl.DataFrame, keys: Sequence[str], row: int) -> str:
    return "/".join(str(value) for value in table.select(keys).row(row))


def first_other_line(remade: Path, there: Path) -> Wrong:
    """Return the first line that differs when a printed table is remade, as (expected, found)."""
    lines = zip_longest(remade.read_bytes().splitlines(), there.read_bytes().splitlines())
    n = next((n for n, (line, other) in enumerate(lines, 1) if line != other), 0)
    return f"line {n} as its Parquet file has it", "another line"
