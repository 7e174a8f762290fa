"""The files of a finished study, their records, and how the settings of two studies differ."""

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
from userturn.storage.hashing import canonical_json, file_sha256, fingerprint, short_hash
from userturn.study.grid import Grid
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

LONGEST = 60  # characters shown of a setting
DATASET = (
    *("hub", "revision", "file", "config", "split", "files"),
    *("language", "limit", "condition", "instruction"),
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


def short(value: Any) -> str:
    """Return a setting as a short text, and a hash as its beginning."""
    text = value if isinstance(value, str) else canonical_json(value)
    kind, _, digest = text.rpartition(":")
    if len(digest) == 64 and not set(digest) - set("0123456789abcdef"):
        return f"{kind}:{short_hash(digest)}" if kind else short_hash(digest)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def settings_of(grid: Grid, wildcards: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that affect a job's outputs, by readable names.

    A job without wildcards is affected by the settings of the whole study.
    """
    chosen: dict[str, Mapping[str, Any]] = {
        "model": grid.contents.models,
        "dataset": {name: _dataset(grid, name) for name in grid.contents.datasets},
        "perturbation": grid.contents.perturbations,
        "judge": grid.contents.judges,
    }
    settings: dict[str, Any] = {}
    for kind, entries in chosen.items():
        names = sorted(entries) if not wildcards else [wildcards.get(kind, "")]
        settings |= {f"{kind} {name}": entries[name] for name in names if name in entries}
    if not wildcards or {"model", "dataset"} <= set(wildcards):
        model = wildcards.get("model")
        settings["seed"] = grid.config["seed"]
        settings["answer"] = (
            grid.answer_settings(model) if model in grid.models else grid.config["answer"]
        )
    if not wildcards or "temperature" in wildcards:
        settings["temperature"] = wildcards.get("temperature", sorted(grid.temperatures))
        settings |= {key: grid.config[key] for key in ("samples", "user_turn")}
    if not wildcards:
        settings |= {key: grid.config[key] for key in ("primary_judge", "statistics")}
    return settings


def _dataset(grid: Grid, name: str) -> dict[str, Any]:
    entry = grid.config["datasets"][name]
    told = {key: entry[key] for key in DATASET if key in entry}
    return {**told, "identity": grid.contents.datasets[name]}


def flat(name: str, value: Any) -> dict[str, Any]:
    """Return nested settings as one mapping, with dotted names that begin with `name`."""
    if not isinstance(value, Mapping):
        return {name: value}
    return {key: v for k, inner in value.items() for key, v in flat(f"{name}.{k}", inner).items()}


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield each difference between two results of `settings_of` in words."""
    for group in sorted(before.keys() | now.keys()):
        if group not in before:
            yield f"{group}: not then, asked for now"
        elif group not in now:
            yield f"{group}: asked for then, not now"
        else:
            was, is_now = flat(group, before[group]), flat(group, now[group])
            for name in sorted(was.keys() | is_now.keys()):
                if was.get(name) != is_now.get(name):
                    texts = (short(s[name]) if name in s else "none" for s in (was, is_now))
                    yield "{}: {} then, {} now".format(name, *texts)
