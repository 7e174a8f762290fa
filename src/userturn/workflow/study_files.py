"""The files of a finished study, and their records."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl
import yaml

from userturn.config.trust import is_of_this_folder
from userturn.errors import UserError
from userturn.storage.files import paths_below
from userturn.storage.hashing import file_sha256, fingerprint
from userturn.workflow.job_record import PROVENANCE, STAMP, JobRecord, code_sha256, read_record

# No artifacts: records themselves, and files that grow or vanish while a study runs.
NOT_ARTIFACTS = ("provenance", "journal", "leases", "checkpoints", "audit", "drawn", "README.md")

# Files about one run and not the study: who was at work, and how much was already done.
OF_A_RUN = ("results/checkpoints/", "results/leases/", "results/sweeps/", "results/judging/")
OF_THE_STUDY = ("schema_version", "rule", "wildcards", "identity")  # in a record, beside its files

# Exceptions from reading a file that was altered together with its hash.
FAULTS = (
    UserError,
    OSError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    RecursionError,
    yaml.YAMLError,
    ImportError,  # of a verifier that this version does not have
)

Hashes = Mapping[str, str]


def is_hidden(path: str | Path) -> bool:
    """Return whether a file, or a folder that it is in, has a name that begins with a dot.

    Systems, editors and git leave such files beside others. No job writes or reads them.
    """
    return any(part.startswith(".") for part in PurePosixPath(path).parts)


@dataclass(frozen=True)
class Files:
    """The files of a results folder, wherever it is now, and their records."""

    results: Path
    left_out: Hashes  # sha256 of artifacts that an export left out, by path

    def at(self, path: str) -> Path:
        """Return the present path of a file in a record, with project files beside the results."""
        folder, _, rest = path.partition("/")
        return self.results / rest if folder == "results" else self.results.parent / path

    def _may_open(self, path: str) -> bool:
        """Return whether a file is the user's own or inside the study, links resolved."""
        folder = self.results.resolve().parent
        return is_of_this_folder(self.results) or self.at(path).resolve().is_relative_to(folder)

    @cached_property
    def records(self) -> dict[str, JobRecord | None]:
        """The record of every job, or None if it cannot be read, by path of the record."""
        folder = self.results / "provenance"
        return {
            f"{PROVENANCE}/{path.relative_to(folder).as_posix()}": read_record(path)
            for path in sorted(folder.rglob("*.json"))
            if not is_hidden(path.relative_to(folder))
        }

    @property
    def readable(self) -> Iterator[tuple[str, JobRecord]]:
        """Yield the readable records with their paths."""
        return ((path, record) for path, record in self.records.items() if record is not None)

    @cached_property
    def makers(self) -> dict[str, list[str]]:
        """The paths of the records that claim each artifact, by path of the artifact."""
        makers: dict[str, list[str]] = {}
        for path, record in self.readable:
            for name in (*record["outputs"], *record["beside"]):
                makers.setdefault(name, []).append(path)
        return makers

    @cached_property
    def noted(self) -> dict[str, str]:
        """The sha256 that each artifact had when it was made, by path."""
        kinds = ("beside", "outputs")  # outputs last, since they take precedence
        records = [record[kind] for kind in kinds for _, record in self.readable]
        return {name: digest for hashes in records for name, digest in hashes.items()}

    @cached_property
    def present(self) -> list[str]:
        """The paths of all existing artifacts."""
        return [
            f"results/{path.relative_to(self.results)}"
            for path in paths_below(self.results)
            if path.is_file()
            and path.name != STAMP
            and path.relative_to(self.results).parts[0] not in NOT_ARTIFACTS
        ]

    @cached_property
    def has_journals(self) -> bool:
        """Whether this copy of the study came with its journals."""
        return any((self.results / "journal").rglob("[!.]*.jsonl"))

    @property
    def recorded(self) -> dict[str, str]:
        """The sha256 of every recorded artifact that exists or was left out, without `OF_A_RUN`."""
        return {
            path: self.hashes[path]
            for path in sorted(self.makers.keys() & self.hashes.keys())
            if not path.startswith(OF_A_RUN)
        }

    def other_code(self, artifact: str) -> str | None:
        """Return the commit of the code that made an artifact, or None for the present code."""
        for maker in self.makers.get(artifact, []):
            account = (self.records[maker] or {}).get("made", {})
            if account.get("code_sha256") != code_sha256():
                return account.get("commit") or "of no commit"
        return None

    def has_changed_inputs(self, artifact: str) -> bool:
        """Return whether an input of an artifact was made again since, with another content."""
        return any(
            self.noted.get(name, digest) != digest
            for maker in self.makers.get(artifact, [])
            for name, digest in (self.records[maker] or {"inputs": {}})["inputs"].items()
        )

    @cached_property
    def hashes(self) -> dict[str, str]:
        """The sha256 of every artifact and recorded input that exists or was left out."""
        named = {name for _, record in self.readable for name in record["inputs"]}
        beside = {name for _, record in self.readable for name in record["beside"]}
        paths = sorted({*self.present, *named, *beside})
        there = [path for path in paths if self.at(path).is_file() and self._may_open(path)]
        with ThreadPoolExecutor() as pool:
            digests = pool.map(lambda path: file_sha256(self.at(path)), there)
        return {**self.left_out, **dict(zip(there, digests, strict=True))}


def study_digest(files: Files) -> str:
    """Return one hash of a study's artifacts and of how each was made from its inputs.

    It is equal for the folder, a copy, an export, and a second run of the same study. It leaves out
    times, machines, leases, names of journals, and files that no job made.
    """
    records: dict[str, Any] = {}
    for path, record in files.readable:
        records[path] = {key: record[key] for key in OF_THE_STUDY}
        for kind in ("inputs", "outputs"):
            hashes = record[kind].items()
            records[path][kind] = {p: h for p, h in hashes if not p.startswith(OF_A_RUN)}
    return fingerprint({"artifacts": files.recorded, "records": records})


def records_digest(files: Files) -> str:
    """Return one hash of all records, including times, machines and the journals' hashes."""
    return fingerprint({path: file_sha256(files.at(path)) for path in files.records})


def times_and_commits(files: Files) -> str:
    """Return the times and the commits of userturn with which a study's jobs ran, in words."""
    accounts = [record["made"] for _, record in files.readable]
    if not accounts:
        return "no job has a record"
    began = min(str(one.get("began")) for one in accounts)
    ended = max(str(one.get("ended")) for one in accounts)
    commits = sorted({one["commit"] or "of no commit" for one in accounts})
    return f"jobs ran from {began} to {ended}, by userturn {', '.join(commits)}"
