"""The identity of the report."""

from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.workflow.tables import TableGrid

REPORT_VERSION = 3


class ReportGrid:
    """The report of a grid."""

    def __init__(self, grid: Grid, tables: TableGrid) -> None:
        """Take the grid of a checked configuration, and the tables that the report shows."""
        self.grid = grid
        self.tables = tables

    @property
    def identity(self) -> str:
        """The identity of the report: the settings that affect it besides its input files."""
        private = self.grid.private_datasets
        tables = [self.tables.identity_of(rule) for rule in self.tables.rules]
        about = self.grid.config.get("study")
        return fingerprint([REPORT_VERSION, tables, self.grid.primary_judge, private, about])
