"""The cells of datasets in several languages, and the identity of what is detected."""

from functools import cached_property

from userturn.config.dataset_files import EVERY_LANGUAGE
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, by_source, files_of
from userturn.study.grid import Grid

DETECTION_VERSION = 1


class LanguageGrid:
    """The cells whose dataset's entry has `language: all`, grouped by model and dataset."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    @cached_property
    def cells(self) -> list[Cell]:
        """Those cells."""
        entries = self.grid.datasets
        told = {name for name in entries if entries[name].get("language") == EVERY_LANGUAGE}
        return [cell for cell in self.grid.cells if cell.dataset in told]

    @cached_property
    def _by_source(self) -> dict[tuple[str, str], list[Cell]]:
        return by_source(self.cells)

    @property
    def sources(self) -> list[tuple[str, str]]:
        """Model and dataset of these cells."""
        return list(self._by_source)

    def user_turns_of(self, model: str, dataset: str) -> list[str]:
        """Return the user turns of all cells of a model and dataset."""
        return files_of(self._by_source[model, dataset], "user_turns.parquet")

    def identity_of(self, model: str, dataset: str) -> str:
        """Return the identity of the languages of a model's turns on a dataset."""
        cells = [self.grid.cell_identity(cell) for cell in self._by_source[model, dataset]]
        answers = self.grid.answers_identity(model, dataset)
        return fingerprint([DETECTION_VERSION, cells, answers])

    @property
    def files(self) -> list[str]:
        """The languages of all turns, by model and dataset."""
        return [f"results/languages/{m}/{d}.parquet" for m, d in self.sources]
