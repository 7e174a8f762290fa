"""Inputs and params of the chance floor: turns judged again after another item's answer."""

from functools import cached_property

from userturn.prompts.perturbations import controls_of
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, by_source, files_of, verdicts_of
from userturn.study.grid import Grid

CHANCE_FLOOR_VERSION = 1


class ChanceFloorGrid:
    """The cells whose turns are judged again, grouped by model and dataset."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid
        # A study from before there was a chance floor has none.
        self.n_turns = int(grid.config["controls"].get("chance_floor", 0))

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells with a chance floor: all except controls, which show no own answer."""
        controls = controls_of(self.grid.perturbations)
        measured = [cell for cell in self.grid.cells if cell.perturbation not in controls]
        return measured if self.n_turns else []

    @cached_property
    def _by_source(self) -> dict[tuple[str, str], list[Cell]]:
        return by_source(self.cells)

    @property
    def sources(self) -> list[tuple[str, str]]:
        """Model and dataset of all cells with a chance floor."""
        return list(self._by_source)

    def user_turns(self, model: str, dataset: str) -> list[str]:
        """Return the user turns of all cells of a model and dataset, from which turns are drawn."""
        return files_of(self._by_source[model, dataset], "user_turns.parquet")

    def turns_identity(self, model: str, dataset: str) -> str:
        """Return the identity of the turns with another item's answer."""
        cells = [self.grid.cell_identity(cell) for cell in self._by_source[model, dataset]]
        drawing = [self.n_turns, self.grid.config["seed"]]
        return fingerprint([CHANCE_FLOOR_VERSION, cells, drawing])

    def identity_of(self, model: str, dataset: str, judge: str) -> str:
        """Return the identity of one judge's verdicts on these turns."""
        turns = self.turns_identity(model, dataset)
        return self.grid.judged_identity(turns, judge, f"chance_floor/{model}/{dataset}")

    @property
    def swapped_verdicts(self) -> list[str]:
        """The verdicts of every judge after other items' answers."""
        return [
            f"results/chance_floor/{model}/{dataset}/verdicts/{judge}.parquet"
            for model, dataset in self.sources
            for judge in self.grid.judges
        ]

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of every judge on the same cells, after each item's own answer."""
        return verdicts_of(self.cells, self.grid.judges)

    @property
    def identity(self) -> str:
        """The identity of the table of chance floors."""
        after_others = [
            self.identity_of(model, dataset, judge)
            for model, dataset in self.sources
            for judge in self.grid.judges
        ]
        own = [
            self.grid.verdicts_identity(cell, judge)
            for cell in self.cells
            for judge in self.grid.judges
        ]
        return fingerprint([CHANCE_FLOOR_VERSION, after_others, own])
