"""The files of a finished study, and what their records say of them."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from userturn.provenance.job_record import PROVENANCE, STAMP, Record, read_record
from userturn.storage.hashing import file_sha256

# Kept apart from artifacts: records themselves, and what grows or goes while a study runs.
NOT_ARTIFACTS = (
    "provenance",
    "journal",
    "leases",
    "checkpoints",
    "audit",
    "drawn",
    "README.md",
)

Hashes = Mapping[str, str]


@dataclass(frozen=True)
class Files:
    """The files of a results folder, and what their records say of them.

    Attributes:
        results: the folder, wherever it is now.
        left_out: sha256 of artifacts that an export left out, by path.
    """

    results: Path
    left_out: Hashes

    def at(self, path: str) -> Path:
        """Return where a path of a record is now; inputs of the project are beside the results."""
        folder, _, rest = path.partition("/")
        return self.results / rest if folder == "results" else self.results.parent / path

    @cached_property
    def records(self) -> dict[str, Record | None]:
        """The record of every job, None if it cannot be read, by the record's path."""
        folder = self.results / "provenance"
        return {
            f"{PROVENANCE}/{path.relative_to(folder).as_posix()}": read_record(path)
            for path in sorted(folder.rglob("*.json"))
        }

    @property
    def readable(self) -> Iterator[tuple[str, Record]]:
        """The records that can be read, by their paths."""
        return ((path, record) for path, record in self.records.items() if record is not None)

    @cached_property
    def makers(self) -> dict[str, list[str]]:
        """The records that claim each artifact."""
        makers: dict[str, list[str]] = {}
        for path, record in self.readable:
            for name in (*record["outputs"], *record["beside"]):
                makers.setdefault(name, []).append(path)
        return makers

    @cached_property
    def noted(self) -> dict[str, str]:
        """The hash that each artifact had when it was made."""
        kinds = ("beside", "outputs")  # of two records of a file, the one that declares it counts
        made = [record[kind] for kind in kinds for _, record in self.readable]
        return {name: digest for hashes in made for name, digest in hashes.items()}

    @cached_property
    def present(self) -> list[str]:
        """The paths of all artifacts that are there."""
        return [
            f"results/{path.relative_to(self.results)}"
            for path in sorted(self.results.rglob("*"))
            if path.is_file()
            and path.name != STAMP
            and path.relative_to(self.results).parts[0] not in NOT_ARTIFACTS
        ]

    @cached_property
    def has_journals(self) -> bool:
        """Whether this copy of the study came with its journals."""
        return any((self.results / "journal").rglob("*.jsonl"))

    @property
    def known(self) -> list[str]:
        """The paths of all artifacts that are there or were left out."""
        left_out = {path for path in self.left_out if path in self.makers}
        return sorted(left_out.union(self.present))

    @cached_property
    def hashes(self) -> dict[str, str]:
        """The sha256 of every artifact and every noted input that is there, or was left out."""
        named = {name for _, record in self.readable for name in record["inputs"]}
        beside = {name for _, record in self.readable for name in record["beside"]}
        wanted = sorted({*self.present, *named, *beside})
        there = [path for path in wanted if self.at(path).is_file()]
        with ThreadPoolExecutor() as pool:
            found = pool.map(lambda path: file_sha256(self.at(path)), there)
        return {**self.left_out, **dict(zip(there, found, strict=True))}


def digest_of(hashes: Hashes) -> str:
    """Return one hash of all artifacts: publish it, and any copy can be compared with it."""
    lines = "".join(f"{digest}  {path}\n" for path, digest in sorted(hashes.items()))
    return sha256(lines.encode()).hexdigest()
