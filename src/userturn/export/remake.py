"""`userturn remake`: tables, figures and the report from an archive alone, or a whole study again.

It needs no model, GPU or project: each rule's function runs on the files of the archive. Files
made from rows that the archive leaves out are listed and not made. `--sweep` instead runs the whole
study again.
"""

import errno
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Self

import yaml

from userturn.config.load import CONFIG, RUBRICS
from userturn.errors import NoRoomError, UserError, is_full_disk
from userturn.export.read_archive import opened, read_left_out
from userturn.processes import block_network
from userturn.storage.files import copy_folder, write_text
from userturn.storage.hashing import file_sha256
from userturn.study.powers import check_may_run
from userturn.study.record import StudyRecord, read_study_record
from userturn.wording import number_of
from userturn.workflow.registry import COPIES
from userturn.workflow.run_folder import check_is_new, write_study_folder
from userturn.workflow.run_job import call, inputs_of, outputs_of, replayed
from userturn.workflow.study import Study, open_record
from userturn.workflow.study_files import FAULTS, Files

REPORT = "build_report"  # the rule's name
REPORT_PAGE, REPORT_DATA = "results/report/index.html", "results/report/data"
# Inputs that are all files of a folder, which only the records name: captions and annotations.
CAPTIONS, CAPTIONED, LABELLED = "data/captions/", "paths_to_captions", "paths_to_files"
COUNTING = "tabulate_costs"  # its tables are counted in accounts, which lie beside the journals


@contextmanager
def there_is_room(folder: Path) -> Iterator[None]:
    """Raise `NoRoomError` for a full or read-only folder, so that no file read is blamed for it."""
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
    """A finished study, and the folder in which parts of it are made again, at the same paths.

    `prefers_remade` says whether jobs read remade files instead of the study's own.
    """

    files: Files
    record: StudyRecord
    study: Study
    folder: Path
    prefers_remade: bool

    @classmethod
    def load(cls, results: Path, folder: Path, prefers_remade: bool) -> Self:
        """Return a finished study to be made again elsewhere, else raise UserError."""
        record, study = open_record(results)
        return cls(Files(results, read_left_out(results)), record, study, folder, prefers_remade)

    def path_of(self, path: str) -> Path:
        """Return the path at which to read a file of the study."""
        remade = self.folder / path
        return remade if self.prefers_remade and remade.is_file() else self.files.at(path)

    def _read(self, path: str) -> str:
        return self.rubric if path in RUBRICS else str(self.path_of(path))

    @cached_property
    def rubric(self) -> str:
        """The path of a copy of the rubric, written from the study's record."""
        contents = self.record.contents
        path = str(self.folder / contents.rubric_path)
        write_text(contents.texts[contents.rubric_path], path)
        return path

    def _inputs(self, rule: str, wildcards: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the paths of a job's inputs, as in rules, by the names of the inputs."""
        inputs = inputs_of(self.study, rule, wildcards)
        if CAPTIONED in inputs:
            record = self.files.records.get(f"results/provenance/{rule}.json") or {"inputs": {}}
            inputs[CAPTIONED] = sorted(p for p in record["inputs"] if p.startswith(CAPTIONS))
        if LABELLED in inputs:
            inputs[LABELLED] = sorted(self.record.contents.annotations.get(wildcards["round"], ()))
        if COPIES in inputs and not all(self.path_of(path).is_file() for path in inputs[COPIES]):
            inputs[COPIES] = []  # studies of earlier versions lack this table
        return inputs

    def needs(self, rule: str, **wildcards: str) -> list[str]:
        """Return the paths, as in rules, of the files from which a job makes its outputs."""
        inputs = self._inputs(rule, wildcards).values()
        return sorted({path for paths in inputs for path in paths} - {*RUBRICS})

    def make(self, rule: str, **wildcards: str) -> None:
        """Make the outputs of a job again."""
        task = replayed(self.study, rule, self._read, lambda p: str(self.folder / p), wildcards)
        record = self.files.records.get(f"results/provenance/{rule}.json")
        if record is not None:  # an earlier version may have had another identity for them
            task = replace(task, params={**task.params, "identity": record["identity"]})
        named = self._inputs(rule, wildcards).items()
        inputs = {name: [self._read(path) for path in paths] for name, paths in named}
        with there_is_room(self.folder):
            call(replace(task, inputs=inputs))


REMADE = ("results/tables/", "results/figures/", "results/report/")
SHOWN = 20  # lines of one kind
NAMED = 30  # names in a line


@dataclass(frozen=True)
class Outcome:
    """The files of a study by path: made again equal byte for byte, made again unequal, left out.

    Unequal files come with what may explain the difference, files left out with the reason.
    """

    equal: list[str]
    unequal: dict[str, str]
    left_out: dict[str, str]


def remake(path: Path, folder: Path) -> Outcome:
    """Make tables, figures and the report of a study again, and compare them with its own.

    Raises:
        UserError: there is no finished study, or the folder is not empty.
    """
    check_is_new(folder)
    with opened(path) as results, block_network():
        return remake_after_verdicts(results, folder)


def remake_after_verdicts(results: Path, folder: Path) -> Outcome:
    """Make everything after the verdicts again, and compare it with the study's own files."""
    here = Remaking.load(results, folder, prefers_remade=True)
    withheld = read_left_out(results, "reason")
    reasons: dict[str, str] = {}
    for rule in rules_in_order(here):
        why = _missing(here, rule, withheld)
        try:
            if why is None:
                here.make(rule)
                continue
        except FAULTS as error:
            kind = type(error).__name__
            why = f"what it is made from is damaged ({kind}); `userturn audit` says where"
        reasons |= dict.fromkeys(_outputs(here, rule), why)
    return compare(here.files, folder, reasons)


def rules_in_order(here: Remaking) -> list[str]:
    """Return the rules after the verdicts, each after those that make its inputs."""
    rules = [*here.study.tables.rules, *here.study.figures.rules, REPORT]
    makers = {path: rule for rule in rules for path in _outputs(here, rule)}
    before = {
        rule: sorted({makers[path] for path in here.needs(rule) if path in makers})
        for rule in rules
    }
    return list(TopologicalSorter(before).static_order())


def _outputs(here: Remaking, rule: str) -> list[str]:
    if rule == REPORT:
        noted = [path for path in here.files.noted if path.startswith(f"{REPORT_DATA}/")]
        return [REPORT_PAGE, *sorted(noted)]
    return [path for paths in outputs_of(here.study, rule).values() for path in paths]


def _missing(here: Remaking, rule: str, withheld: dict[str, str]) -> str | None:
    if rule == COUNTING and not here.files.has_journals:
        return "it is counted in accounts, which come with the journals"
    absent = [path for path in here.needs(rule) if not here.path_of(path).is_file()]
    if not absent:
        return None
    more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
    why = next((withheld[path] for path in absent if path in withheld), "not in this copy")
    return f"it is made from {absent[0]}{more}: {why}"


def compare(files: Files, folder: Path, reasons: Mapping[str, str]) -> Outcome:
    """Compare the files made again with those of the study, or with their recorded hashes."""
    expected = {path: files.hashes.get(path) for path in files.noted if path.startswith(REMADE)}
    there = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    digests = {p: file_sha256(folder / p) for p in sorted(there) if p.startswith(REMADE)}
    equal = [path for path, digest in digests.items() if digest == expected.get(path)]
    unequal = {path: _why(files, path, expected.get(path)) for path in digests if path not in equal}
    missing = {path: reasons.get(path, "not made by this version") for path in sorted(expected)}
    return Outcome(equal, unequal, {p: why for p, why in missing.items() if p not in digests})


def _why(files: Files, path: str, expected: str | None) -> str:
    if expected is None:
        return "the study has no such file"
    commit = files.other_code(path)
    return f"made by another version of userturn, commit {commit}" if commit else "no known reason"


def format_outcome(outcome: Outcome, results: Path) -> str:
    """Return the text that tells an outcome in the terminal."""
    n_files = len(outcome.equal) + len(outcome.unequal)
    lines = [
        f"{number_of(n_files, 'file')} of tables, figures and report made again in '{results}': "
        f"{len(outcome.equal)} equal byte for byte, {len(outcome.unequal)} unequal, "
        f"{len(outcome.left_out)} left out"
    ]
    lines += _shown(f"unequal: {path}: {why}" for path, why in outcome.unequal.items())
    lines += _shown(f"left out: {what}" for what in _reason_lines(outcome.left_out))
    return "\n".join(lines)


def _shown(lines: Iterable[str]) -> list[str]:
    every = list(lines)
    more = [f"... and {len(every) - SHOWN} more"] if len(every) > SHOWN else []
    return every[:SHOWN] + more


def _reason_lines(reasons: Mapping[str, str]) -> Iterator[str]:
    for reason in dict.fromkeys(reasons.values()):
        paths = [path for path, why in reasons.items() if why == reason]
        names = list(dict.fromkeys(path.partition(".")[0] for path in paths))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield f"{number_of(len(paths), 'file')} ({', '.join(names[:NAMED])}{more}): {reason}"


SNAKEMAKE = ("snakemake", "--cores", "all")
INSTEAD = (
    "leave it out: tables, figures and report are made again, and nothing is run; or read the "
    "study's configuration and run it as your own"
)


def sweep_again(
    path: Path, folder: Path, configfiles: Sequence[str] = (), trusted: str | None = None
) -> str:
    """Run a study in a new folder by its own configuration and texts, and return what to do next.

    `configfiles` are the configuration files besides `config.yaml` of a study of the user's own.
    `trusted` is the hash of what the user has allowed a stranger's study to do.

    Raises:
        UserError: there is no finished study, it is neither the user's own nor trusted, the folder
            is not empty, or the run failed.
    """
    with opened(path) as results:
        config = read_study_record(results).config
        check_may_run(path, results, config, "--sweep", INSTEAD, configfiles, trusted)
        if not (results.parent / "data").is_dir():
            raise UserError(
                f"'{path}' has no folder `data`, whose texts a run needs; expected an archive that "
                "`userturn export` wrote, or the study's own folder"
            )
        write_study_folder(folder)
        # Labels belong to the turns of the former run.
        copy_folder(results.parent / "data", folder / "data", "annotations")
    text = yaml.safe_dump(dict(config), allow_unicode=True, width=10_000)
    (folder / CONFIG).write_text(f"# The configuration of a study that was made before.\n{text}")
    if subprocess.run([sys.executable, "-m", *SNAKEMAKE], cwd=folder, stdout=2).returncode:
        raise UserError(
            f"the study was not finished; see above, correct '{folder / CONFIG}' if it is the "
            f"reason, and run `{' '.join(SNAKEMAKE)}` in '{folder}' to go on"
        )
    command = shlex.join(["userturn", "compare", str(path), str(folder / "results")])
    return f"run again; `{command}` shows what differs"
