"""The rounds of annotation of one kind: which are drawn, and their files."""

from collections.abc import Sequence
from pathlib import Path

from userturn.study.annotation_files import annotation_files
from userturn.study.cells import Cell, files_of
from userturn.study.grid import Grid

FILES_OF_DRAW = ("key.parquet", "items.parquet")


class RoundGrid:
    """Rounds whose files are in one folder of the results; each is drawn once."""

    def __init__(self, grid: Grid, folder: str, rounds: Sequence[str]) -> None:
        """Take a grid, the folder's name, and the names of the rounds, the newest last."""
        self.grid = grid
        self.folder = folder
        self.rounds = list(rounds)
        self.cells: list[Cell] = []  # that they draw from

    def drawn_folder(self, round_name: str) -> Path:
        """Return the folder of a drawn round: not a rule's output, so that no rerun deletes it."""
        return self.grid.results / "drawn" / round_name

    def is_drawn(self, round_name: str) -> bool:
        """Return whether a round was drawn; it is never redrawn, even if the grid changes."""
        folder = self.drawn_folder(round_name)
        return all((folder / name).is_file() for name in FILES_OF_DRAW)

    def unless_drawn(self, round_name: str, paths: list[str]) -> list[str]:
        """Return what a round is drawn from; nothing if it is drawn."""
        return [] if self.is_drawn(round_name) else paths

    def user_turns_to_draw(self, round_name: str) -> list[str]:
        """Return the user turns that a round shows; none if it is drawn."""
        return self.unless_drawn(round_name, files_of(self.cells, "user_turns.parquet"))

    def datasets_to_draw(self, round_name: str) -> list[str]:
        """Return the datasets whose conversations a round shows; none if it is drawn."""
        return self.unless_drawn(round_name, self.datasets)

    def models_to_draw(self, round_name: str) -> list[str]:
        """Return the descriptions of the models of a round; none if it is drawn."""
        return self.unless_drawn(round_name, self.descriptions)

    @property
    def datasets(self) -> list[str]:
        """The datasets of the cells."""
        names = sorted({cell.dataset for cell in self.cells})
        return [f"results/datasets/{name}.parquet" for name in names]

    @property
    def descriptions(self) -> list[str]:
        """The descriptions of the models of the cells."""
        names = sorted({cell.model for cell in self.cells})
        return [f"results/models/{name}.json" for name in names]

    def before(self, round_name: str) -> list[str]:
        """Return the rounds before one.

        Raises:
            KeyError: there is no such round.
        """
        if round_name not in self.rounds:
            raise KeyError(round_name)
        return self.rounds[: self.rounds.index(round_name)]

    def earlier_keys(self, round_name: str) -> list[str]:
        """Return the keys of the rounds before one; none if it is drawn."""
        return self.unless_drawn(round_name, self.of_rounds("key.parquet", self.before(round_name)))

    def of_rounds(self, file: str, rounds: list[str] | None = None) -> list[str]:
        """Return a file of some rounds, or of all."""
        names = self.rounds if rounds is None else rounds
        return [f"results/{self.folder}/{name}/{file}" for name in names]

    def annotation_files(self, round_name: str) -> list[str]:
        """Return the files with labels of a round: all below its folder."""
        return annotation_files(round_name)

    @property
    def pages(self) -> list[str]:
        """The annotation pages of all rounds."""
        return self.of_rounds("task.html")

    @property
    def annotations(self) -> list[str]:
        """The imported labels of all rounds."""
        return self.of_rounds("annotations.parquet")

    @property
    def keys(self) -> list[str]:
        """The keys of all rounds."""
        return self.of_rounds("key.parquet")

    @property
    def items(self) -> list[str]:
        """The items that annotators see, of all rounds."""
        return self.of_rounds("items.parquet")
