"""Params of rules/audit.smk: the identity of the study's record."""

from userturn.study.grid import Grid
from userturn.study.record import study_record


class AuditGrid:
    """The record of a grid, from which an audit starts."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    @property
    def record_identity(self) -> str:
        """The identity of the study's record."""
        return study_record(self.grid.config, self.grid.contents).identity
