"""Self-play: conversations that a model continues with itself, and the identity of each depth.

Depth 1 is a cell without a perturbation: the model's own answer and the user turn after it. At each
further depth the model answers the user turn that it wrote, and is probed again. A depth's identity
follows from the one before it, so that a longer conversation leaves finished depths finished.
"""

from typing import NamedTuple

from userturn.config.entries import self_play_settings
from userturn.storage.hashing import fingerprint
from userturn.study.cells import PLAIN, Cell
from userturn.study.grid import Grid

SELF_PLAY_VERSION = 1
NAMED = "depth-"  # begins the name of a depth, in paths and tables of scores
ANSWERS, TURNS = "answers", "user turns"
FILES = {ANSWERS: "answers.parquet", TURNS: "user_turns.parquet"}  # of a depth


class Depth(NamedTuple):
    """One depth of the conversations that begin in a cell; temperature as in paths."""

    model: str
    dataset: str
    temperature: str
    depth: int

    @property
    def cell(self) -> Cell:
        """The cell that the conversations begin in."""
        return Cell(self.model, self.dataset, self.temperature, PLAIN)

    @property
    def name(self) -> str:
        """Its name in paths, and in the place of a perturbation in tables of scores."""
        return f"{NAMED}{self.depth}"

    @property
    def folder(self) -> str:
        """The folder of its files, below the results: a cell's at depth 1."""
        if self.depth == 1:
            return f"cells/{self.cell.folder}"
        place = f"{self.model}/{self.dataset}/t{self.temperature}"
        return f"self_play/{place}/{self.name}"

    @property
    def before(self) -> "Depth":
        """The depth before it."""
        return self._replace(depth=self.depth - 1)

    @property
    def path_to_conversations(self) -> str:
        """The conversations up to its answers: the dataset's items at depth 1."""
        if self.depth == 1:
            return f"results/datasets/{self.dataset}.parquet"
        return f"results/{self.folder}/conversations.parquet"

    @property
    def path_to_user_turns(self) -> str:
        """The user turns that end it."""
        return f"results/{self.folder}/user_turns.parquet"


def depths(grid: Grid) -> list[Depth]:
    """Return the depths of self-play beyond the first, shallow ones first; none if it is off."""
    settings = self_play_settings(grid.config)
    if settings is None:
        return []
    begins = [cell for cell in grid.cells if cell.perturbation == PLAIN]
    chosen = settings.get("datasets", list(grid.datasets))
    return [
        Depth(cell.model, cell.dataset, cell.temperature, depth)
        for depth in range(2, settings["turns"] + 1)
        for cell in begins
        if cell.dataset in chosen
    ]


def depth_identity(grid: Grid, at: Depth, what: str = TURNS) -> str:
    """Return the identity of a depth's answers or user turns; at depth 1, of the cell's."""
    if at.depth == 1:
        return grid.cell_identity(at.cell)
    return fingerprint([SELF_PLAY_VERSION, what, depth_identity(grid, at.before)])
