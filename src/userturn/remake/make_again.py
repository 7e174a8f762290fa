"""Make tables, figures and the report of a finished study again, in another folder."""

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from userturn.disk_space import is_full_disk
from userturn.errors import NoRoomError
from userturn.figures.confusion import draw_confusion
from userturn.figures.draw import draw_figures
from userturn.provenance.study_files import Files
from userturn.report.build import build_report
from userturn.storage.atomic_files import write_text
from userturn.study.inputs import RUBRIC
from userturn.study.record import StudyRecord
from userturn.tables.make_tables import Material, make_tables
from userturn.workflow.registry import figures_of, paths_of, paths_of_figure, tables_of
from userturn.workflow.study import Study

REPORT = "build_report"  # the rule
REPORT_PAGE, REPORT_DATA = "results/report/index.html", "results/report/data"
CAPTIONS = "data/captions/"
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

    def _all_at(self, paths: Sequence[str]) -> list[str]:
        return [str(self.at(path)) for path in paths]

    @cached_property
    def rubric(self) -> str:
        """The path of the rubric, written as the study's record has it."""
        path = self.to(RUBRIC)
        write_text(self.record.contents.texts[RUBRIC], path)
        return path

    @property
    def captions(self) -> list[str]:
        """The captions that the study's report shows, as rules name them."""
        record = self.files.records.get(f"results/provenance/{REPORT}.json") or {"inputs": {}}
        return sorted(path for path in record["inputs"] if path.startswith(CAPTIONS))

    def needs(self, rule: str) -> list[str]:
        """Return the files that the outputs of a rule are made from, as rules name them."""
        if rule == REPORT:
            inputs = self.study.report.inputs | {"captions": self.captions}
        else:
            grid = self.study.figures if rule in self.study.figures.rules else self.study.tables
            inputs = grid.inputs_of(rule)
        return sorted({path for paths in inputs.values() for path in paths} - {RUBRIC})

    def make_tables(self, rule: str) -> None:
        """Make the tables of a rule."""
        tables = self.study.tables
        inputs = {name: self._all_at(paths) for name, paths in tables.inputs_of(rule).items()}
        if "rubric" in inputs:
            inputs["rubric"] = [self.rubric]
        made = {name: [self.to(path) for path in paths_of(name)] for name in tables_of(rule)}
        with there_is_room(self.folder):
            make_tables(Material(self.study.grid, inputs), tables.identity_of(rule), made)

    def draw(self, rule: str, ending: str = "") -> None:
        """Draw the figures of a rule, in all formats or in that of one ending."""
        made = {name: self._figure_files(name, ending) for name in figures_of(rule)}
        with there_is_room(self.folder):
            self._draw(rule, made)

    def _draw(self, rule: str, made: dict[str, list[str]]) -> None:
        identity = self.study.figures.identity_of(rule)
        if rule != "draw_confusion":
            inputs = self.study.figures.inputs_of(rule)
            tables = {name: str(self.at(paths[0])) for name, paths in inputs.items()}
            draw_figures(self.study.grid, identity, tables, made)
        else:
            confusion = str(self.at("results/tables/confusion.parquet"))
            draw_confusion(identity, confusion, self.rubric, made["confusion"])

    def _figure_files(self, name: str, ending: str) -> list[str]:
        return [self.to(path) for path in paths_of_figure(name) if path.endswith(ending)]

    def build_report(self) -> None:
        """Write the report's page and its data files."""
        with there_is_room(self.folder):
            self._build_report()

    def _build_report(self) -> None:
        inputs = {name: self._all_at(found) for name, found in self.study.report.inputs.items()}
        build_report(
            grid=self.study.grid,
            judge=self.study.grid.primary_judge,
            path_to_rubric=self.rubric,
            paths_to_descriptions=inputs["descriptions"],
            paths_to_tables=inputs["tables"],
            paths_to_figures=inputs["figures"],
            paths_to_captions=self._all_at(self.captions),
            paths_to_annotations=inputs["annotations"],
            paths_to_scores=inputs["scores"],
            path_to_report=self.to(REPORT_PAGE),
            folder_of_data=self.to(REPORT_DATA),
        )
