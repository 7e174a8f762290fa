"""The cells of datasets with several turns of a conversation, from which a table is made."""

from functools import cached_property

from userturn.study.cells import Cell, verdicts_of
from userturn.study.grid import Grid


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
