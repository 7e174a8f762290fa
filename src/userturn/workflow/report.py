"""Inputs and params of rules/report.smk: the files that the report shows, and its identity."""

from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.workflow.data import DataGrid
from userturn.workflow.figures import FigureGrid
from userturn.workflow.table_inputs import Inputs
from userturn.workflow.tables import TableGrid

REPORT_VERSION = 2


class ReportGrid:
    """The report of a grid."""

    def __init__(self, grid: Grid, data: DataGrid, tables: TableGrid, figures: FigureGrid) -> None:
        """Take the grid of a checked configuration, and the stages that the report reads from."""
        self.grid = grid
        self.data = data
        self.tables = tables
        self.figures = figures

    @property
    def inputs(self) -> Inputs:
        """The files of the study that the report shows."""
        return {
            "user_turns": self.tables.user_turns,
            "verdicts": self.tables.verdicts,
            "answers": self.tables.answers,
            "grades": self.tables.grades,
            "datasets": self.data.prepared,
            "descriptions": self.data.descriptions,
            "annotations": self.tables.humans.annotations,
            "scores": self.tables.likelihood.scores,
            "tables": self.tables.files,
            "figures": self.figures.files,
            "charts": self.figures.charts,
        }

    @property
    def identity(self) -> str:
        """The identity of the report: the settings that affect it besides its input files."""
        private = self.grid.private_datasets
        return fingerprint([REPORT_VERSION, self.tables.shown_identity, private])
