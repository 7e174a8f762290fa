"""What rules ask: one object for each rules file; tables, figures and report ask it itself."""

from userturn.config.families import baselines, families
from userturn.prompts.perturbations import controls_of
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, files_of
from userturn.study.grid import Grid
from userturn.study.record import study_record
from userturn.workflow.controls import ControlGrid
from userturn.workflow.data import DataGrid
from userturn.workflow.generation import GenerationGrid
from userturn.workflow.grading import GradingGrid
from userturn.workflow.humans import HumanGrid
from userturn.workflow.judges import JudgeGrid
from userturn.workflow.pending import Pending
from userturn.workflow.training import TrainingGrid

SUMMARY_VERSION = 3
ANALYSIS_VERSION = 3
REPORT_VERSION = 1


class Study:
    """A grid as its rules ask for it."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid
        self.pending = Pending(grid)
        self.controls = ControlGrid(self.grid)
        self.data = DataGrid(grid)
        self.generation = GenerationGrid(grid, self.pending)
        self.grading = GradingGrid(grid)
        self.training = TrainingGrid(self.grid)
        self.humans = HumanGrid(self.grid)
        self.judges = JudgeGrid(self.grid, self.controls, self.pending)

    def summary_identity(self, cell: Cell) -> str:
        """Return the identity of the summary of a cell by all judges."""
        identities = [self.grid.verdicts_identity(cell, judge) for judge in self.grid.judges]
        return fingerprint([SUMMARY_VERSION, identities])

    @property
    def _drawing(self) -> list[int]:
        """What shapes resamples."""
        return [self.grid.config["seed"], self.grid.config["statistics"]["resamples"]]

    @property
    def identity(self) -> str:
        """The identity of the study's tables."""
        grid = self.grid
        verifiers = {name: d["verifier"] for name, d in grid.datasets.items()}
        return fingerprint([grid.verdict_identities, verifiers])

    def verdicts(self, cell: Cell) -> list[str]:
        """Return the verdicts of every judge on a cell."""
        return files_of([cell], *self._verdict_files)

    @property
    def _verdict_files(self) -> list[str]:
        return [f"verdicts/{judge}.parquet" for judge in self.grid.judges]

    @property
    def analysis_identity(self) -> str:
        """The identity of the tables that compare, pool and correlate."""
        grid = self.grid
        return fingerprint(
            {
                "version": ANALYSIS_VERSION,
                "study": self.identity,
                "families": families(grid.models),
                "baselines": baselines(grid.models, grid.entries),
                "trained_on": self.training.declared,
                "controls": controls_of(grid.perturbations),
                "drawing": self._drawing,
            }
        )

    @property
    def margins_identity(self) -> str:
        """The identity of the table of claims: no other table depends on the margins.

        The record of a study may be older than the margins.
        """
        margins = self.grid.config["statistics"].get("margins")
        return fingerprint([self.analysis_identity, margins])

    @property
    def shown_identity(self) -> str:
        """The identity of what shows the primary judge: figures, comparison with the paper."""
        return fingerprint([self.analysis_identity, self.grid.primary_judge])

    @property
    def record_identity(self) -> str:
        """The identity of the study's record."""
        return study_record(self.grid.config, self.grid.contents).identity

    @property
    def primary_judge(self) -> str:
        """The judge that figures and the comparison with the paper show."""
        return self.grid.primary_judge

    @property
    def all_verdicts(self) -> list[str]:
        """The verdicts of every judge on all cells."""
        return files_of(self.grid.cells, *self._verdict_files)

    @property
    def all_user_turns(self) -> list[str]:
        """The user turns of all cells."""
        return files_of(self.grid.cells, "user_turns.parquet")

    @property
    def summaries(self) -> list[str]:
        """The summaries of all cells."""
        return files_of(self.grid.cells, "summary.parquet")

    @property
    def grades(self) -> list[str]:
        """The grades of all models and datasets."""
        grid = self.grid
        return [f"results/grades/{m}/{d}.parquet" for m in grid.models for d in grid.datasets]

    @property
    def answers(self) -> list[str]:
        """The answers of all models to all datasets."""
        grid = self.grid
        return [f"results/answers/{m}/{d}.parquet" for m in grid.models for d in grid.datasets]

    @property
    def report_identity(self) -> str:
        """The identity of the report: what shapes it and is no file that it is made of."""
        return fingerprint([REPORT_VERSION, self.shown_identity, self.grid.private_datasets])
