"""What tables are made of, of each source: turns and verdicts."""

from functools import cached_property

from userturn.sources.candidates import REACTIONS, candidate_sources
from userturn.sources.chance_floor import swapped_cells_of
from userturn.sources.registry import asked, judged, sources
from userturn.sources.scores import scores_path
from userturn.sources.self_play import SELF_PLAY_TURNS, Depth, depths_from_the_first
from userturn.sources.source import Turns
from userturn.study.cells import Cell, verdicts_of
from userturn.study.grid import Grid


class JudgedGrid:
    """The user turns of one source."""

    source: str

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    @cached_property
    def turns(self) -> list[Turns]:
        """Their tables; none where the source is off."""
        return [*sources()[self.source].judged(self.grid)]

    @property
    def user_turns(self) -> list[str]:
        """Paths of those tables."""
        return [turns.path for turns in self.turns]

    @property
    def items(self) -> list[str]:
        """Paths of the conversations before them."""
        return sorted({turns.items for turns in self.turns})

    @property
    def verdicts(self) -> list[str]:
        """Paths of the verdicts of every judge on them."""
        return [turns.verdicts(judge) for turns in self.turns for judge in self.grid.judges]


class ControlGrid(JudgedGrid):
    """Real user turns of some datasets, and planted failures."""

    source = "controls"

    @property
    def human_items(self) -> list[str]:
        """Paths of the items that real user turns are taken from."""
        return [f"results/datasets/{name}.parquet" for name in sorted(self.grid.human_datasets)]


class ChanceFloorGrid(JudgedGrid):
    """Turns after another item's answer, and the same cells after each item's own."""

    source = "chance_floor"

    @property
    def cells(self) -> list[Cell]:
        """The cells that they are drawn from."""
        return [cell for cells in swapped_cells_of(self.grid).values() for cell in cells]

    @property
    def own_verdicts(self) -> list[str]:
        """Paths of the verdicts of every judge on those cells."""
        return verdicts_of(self.cells, self.grid.judges)


class LabelledGrid(JudgedGrid):
    """The project's labelled turns."""

    source = "labelled"


class CandidateGrid(JudgedGrid):
    """Several answers of an item, with the turns after them."""

    source = "candidates"

    @property
    def answers(self) -> list[str]:
        """Paths of the candidates."""
        return [f"results/{turns.folder}/answers.parquet" for turns in self.turns]

    @property
    def grades(self) -> list[str]:
        """Paths of their grades."""
        return [f"results/{turns.folder}/grades.parquet" for turns in self.turns]

    @property
    def verdicts(self) -> list[str]:
        """Paths of the verdicts of every judge on the turns after them, grouped by judge."""
        return [turns.verdicts(judge) for judge in self.grid.judges for turns in self.turns]

    @property
    def reactions(self) -> list[str]:
        """Paths of the scores of turns after them."""
        return [scores_path(*pair, REACTIONS) for pair in candidate_sources(self.grid)]


class SelfPlayGrid(JudgedGrid):
    """Conversations that a model continues with itself, from the cells that they begin in."""

    source = "self_play"

    @cached_property
    def depths(self) -> list[Depth]:
        """All depths, the first ones, which are cells, included; none if it is off."""
        return depths_from_the_first(self.grid)

    @cached_property
    def turns(self) -> list[Turns]:
        """The tables of user turns of each depth."""
        return [judged(self.grid)[at.folder] for at in self.depths]

    @property
    def conversations(self) -> list[str]:
        """Paths of the conversations up to the answers of each depth."""
        return [turns.items for turns in self.turns]

    @property
    def scores(self) -> list[str]:
        """Paths of the scores of turns of all depths; none if likelihood is off."""
        places = sorted({(at.model, at.dataset) for at in self.depths})
        paths = [scores_path(*place, SELF_PLAY_TURNS) for place in places]
        return [path for path in paths if path in asked(self.grid)]
