"""The cells of datasets with several turns of a conversation, and the identity of their table."""

from functools import cached_property

from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, verdicts_of
from userturn.study.grid import Grid

TURNS_VERSION = 1


class TurnGrid:
    """The cells whose dataset's entry has `turns`."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    @cached_property
    def cells(self) -> list[Cell]:
        """Those cells."""
        return [cell for cell in self.grid.cells if "turns" in self.grid.datasets[cell.dataset]]

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of every judge on them."""
        return verdicts_of(self.cells, self.grid.judges)

    @property
    def identity(self) -> str:
        """The identity of the table of rates after each turn."""
        judges = self.grid.judges
        verdicts = [self.grid.verdicts_identity(cell, j) for cell in self.cells for j in judges]
        return fingerprint([TURNS_VERSION, verdicts])
