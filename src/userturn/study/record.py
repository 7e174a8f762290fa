"""The record of a study: its configuration, and the contents that its identities depend on.

With this record the identity of every artifact follows from the results folder alone.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from math import prod
from pathlib import Path
from typing import Any

from userturn.config.entries import Config
from userturn.config.trust import is_of_this_folder, is_part, misleading_name
from userturn.errors import UserError, near_path
from userturn.storage.files import write_json
from userturn.storage.hashing import canonical_json, fingerprint
from userturn.study.contents import Contents, FileContents, RecordedContents
from userturn.study.grid import Grid

RECORD = "study.json"
MOST_CELLS = 100_000


@contextmanager
def understood(results: Path) -> Iterator[None]:
    """Raise a `UserError` if this version does not understand the record of a results folder."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise UserError(
            f"'{results}/{RECORD}' has no configuration that this version understands "
            f"({type(error).__name__}: {error}); use the version that made it"
        ) from error


@dataclass(frozen=True)
class StudyRecord:
    """The merged configuration, and the contents of files that identities depend on."""

    config: dict[str, Any]
    contents: RecordedContents

    def grid(self, results: Path) -> Grid:
        """Return the study's grid over its results, wherever they are now.

        The grid of another study than the present one opens no file outside of its folder.

        Raises:
            UserError: the configuration lacks something that this version needs.
        """
        with understood(results):
            is_own = is_of_this_folder(results)
            return Grid(self.config, results, self.contents, None if is_own else results.parent)

    @property
    def identity(self) -> str:
        """The fingerprint of the whole record."""
        return fingerprint(self.content)

    @property
    def content(self) -> dict[str, Any]:
        """The record as it is written, without contents that the study does not have."""
        content = asdict(self)
        for name in ("places", "reactions", "harder_failures", "embedder"):
            if not content["contents"][name]:
                del content["contents"][name]
        for name in ("ids", "grading"):
            if content["contents"][name] == 1:
                del content["contents"][name]
        return content


def study_record(config: Config, contents: Contents) -> StudyRecord:
    """Return the record of a checked configuration."""
    recorded = {field.name: getattr(contents, field.name) for field in fields(RecordedContents)}
    return StudyRecord(dict(config), RecordedContents(**recorded))


def record_study(config: Config, identity: str, path_to_record: str) -> None:
    """Write the record of a study."""
    content = study_record(config, FileContents(config)).content
    write_json(json.loads(canonical_json(content)), path_to_record, identity)  # sorted


def _check_names(record: StudyRecord) -> None:
    """Check that every name in a record is a single part of a path, or raise a ValueError."""
    places = [
        first_name for names in record.contents.places.values() for first_name in names.values()
    ]
    name = next((p for p in places if not is_part(p)), None) or misleading_name(record.config)
    if name is not None:
        raise ValueError(f"'{name}' is a path, expected a name")


def _check_size(config: Config) -> None:
    """Check that a study has no more cells than can be listed, or raise a ValueError.

    A short record can ask for any number: so many temperatures would fill the memory.
    """
    chosen = config.get("run", {})
    axes = ("models", "datasets", "temperatures", "perturbations")
    n_cells = prod(len(chosen.get(axis, config.get(axis, ()))) for axis in axes)
    if n_cells > MOST_CELLS:
        raise ValueError(f"{n_cells} cells, expected at most {MOST_CELLS}")


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of a configuration")


def read_study_record(results: Path) -> StudyRecord:
    """Read the record in a results folder.

    Raises:
        UserError: there is no record, or it is not in the form that `record_study` writes.
    """
    path = results / RECORD
    if not path.is_file():
        raise UserError(
            f"'{path}' does not exist; expected the results folder of a finished study: name that "
            f"folder, or run `snakemake` first{near_path(results)}"
        )
    try:
        content = json.loads(path.read_bytes(), parse_constant=_no_number)
        record = StudyRecord(dict(content["config"]), RecordedContents(**content["contents"]))
        _check_names(record)
        _check_size(record.config)
        return record
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f"'{path}' is not the record of a study that this version understands "
            f"({type(error).__name__}: {error}); use the version that made it, whose commit is in "
            f"'{results}/provenance/record_study.json', or fetch the folder again"
        ) from error
