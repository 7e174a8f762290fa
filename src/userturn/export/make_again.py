"""Make tables, figures and the report of a finished study again, in another folder."""

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from userturn.config.load import RUBRICS
from userturn.disk_space import is_full_disk
from userturn.errors import NoRoomError
from userturn.storage.files import write_text
from userturn.study.record import StudyRecord
from userturn.workflow.registry import COPIES
from userturn.workflow.run_job import call, inputs_of, replayed
from userturn.workflow.study import Study
from userturn.workflow.study_files import Files

REPORT = "build_report"  # the rule
REPORT_PAGE, REPORT_DATA = "results/report/index.html", "results/report/data"
# Inputs of the report, and of labels, that are whatever files a folder had: records say which.
CAPTIONS, CAPTIONED, LABELLED = "data/captions/", "paths_to_captions", "paths_to_files"
COUNTING = "tabulate_costs"  # its tables are counted in accounts, which lie beside the journals


@contextmanager
def there_is_room(folder: Path) -> Iterator[None]:
    """Let a folder that is full or read-only end the command, and not accuse what is read.

    Raises:
        NoRoomError: a file could not be written to the folder.
    """
    try:
        yield
    except OSError as error:
        is_denied = error.errno in (errno.EROFS, errno.EACCES) and str(folder) in str(error)
        if is_full_disk(error) or is_denied:
            raise NoRoomError(
                f"nothing can be made in '{folder}' ({error.strerror}); free some space, or name "
                "another folder, of temporary files by the variable TMPDIR"
            ) from error
        raise


@dataclass(frozen=True)
class Remaking:
    """A finished study, and the folder in which parts of it are made again.

    Attributes:
        files: the study's files.
        record: its record.
        study: the study of that record.
        folder: where files are made, at the same paths as in the project's folder.
        from_made: whether a file made again replaces the study's own where others are made of it.
    """

    files: Files
    record: StudyRecord
    study: Study
    folder: Path
    from_made: bool

    def at(self, path: str) -> Path:
        """Return where to read a file."""
        made = self.folder / path
        return made if self.from_made and made.is_file() else self.files.at(path)

    def to(self, path: str) -> str:
        """Return where a file is made."""
        return str(self.folder / path)

    def _read(self, path: str) -> str:
        return self.rubric if path in RUBRICS else str(self.at(path))

    @cached_property
    def rubric(self) -> str:
        """The path of the rubric, written as the study's record has it."""
        contents = self.record.contents
        path = self.to(contents.rubric_path)
        write_text(contents.texts[contents.rubric_path], path)
        return path

    def _inputs(self, rule: str, wildcards: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the inputs of a job, by name, as rules name them."""
        inputs = inputs_of(self.study, rule, wildcards)
        if CAPTIONED in inputs:
            record = self.files.records.get(f"results/provenance/{rule}.json") or {"inputs": {}}
            inputs[CAPTIONED] = sorted(p for p in record["inputs"] if p.startswith(CAPTIONS))
        if LABELLED in inputs:
            inputs[LABELLED] = sorted(self.record.contents.annotations.get(wildcards["round"], ()))
        if COPIES in inputs and not all(self.at(path).is_file() for path in inputs[COPIES]):
            inputs[COPIES] = []  # a study of an earlier version has no such table
        return inputs

    def needs(self, rule: str, **wildcards: str) -> list[str]:
        """Return the files that the outputs of a job are made from, as rules name them."""
        inputs = self._inputs(rule, wildcards).values()
        return sorted({path for paths in inputs for path in paths} - {*RUBRICS})

    def make(self, rule: str, **wildcards: str) -> None:
        """Make the outputs of a job again."""
        task = replayed(self.study, rule, self._read, self.to, wildcards)
        record = self.files.records.get(f"results/provenance/{rule}.json")
        if record is not None:  # an earlier version may have named the same by another identity
            task = replace(task, params={**task.params, "identity": record["identity"]})
        named = self._inputs(rule, wildcards).items()
        inputs = {name: [self._read(path) for path in paths] for name, paths in named}
        with there_is_room(self.folder):
            call(replace(task, inputs=inputs))
