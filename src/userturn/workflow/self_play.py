"""Inputs and params of rules/self_play.smk: the depths of self-play and their verdicts."""

from functools import cached_property

from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.study.scored_turns import (
    SELF_PLAY_TURNS,
    ScoredTurns,
    scored_turns,
    scores_identity,
)
from userturn.study.self_play import Depth, depth_identity, depths

TABLE_VERSION = 1


class SelfPlayGrid:
    """The depths of self-play beyond the first; none if it is off."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    @cached_property
    def depths(self) -> list[Depth]:
        """All those depths."""
        return depths(self.grid)

    @property
    def begins(self) -> list[Cell]:
        """The cells that the conversations begin in."""
        return list(dict.fromkeys(at.cell for at in self.depths))

    @cached_property
    def by_folder(self) -> dict[str, Depth]:
        """The depths by the folder of their files, below the results."""
        return {at.folder: at for at in self.depths}

    def turns_identity(self, model: str, dataset: str, temperature: str, depth: str) -> str:
        """Return the identity of a depth's conversations and user turns."""
        return depth_identity(self.grid, Depth(model, dataset, temperature, int(depth)))

    def before(self, model: str, dataset: str, temperature: str, depth: str) -> dict[str, str]:
        """Return the conversations and user turns of the depth before."""
        before = Depth(model, dataset, temperature, int(depth)).before
        return {"before": before.path_to_conversations, "turns_before": before.path_to_user_turns}

    def identity_of(
        self, model: str, dataset: str, temperature: str, depth: str, judge: str
    ) -> str:
        """Return the identity of one judge's verdicts on a depth's user turns."""
        at = Depth(model, dataset, temperature, int(depth))
        return self.grid.judged_identity(depth_identity(self.grid, at), judge, at.folder)

    def verdicts_identity(self, at: Depth, judge: str) -> str:
        """Return the identity of one judge's verdicts on a depth's user turns."""
        return self.identity_of(*at[:3], str(at.depth), judge)

    @property
    def all_depths(self) -> list[Depth]:
        """All depths, the first ones included."""
        return [*(Depth(*cell[:3], 1) for cell in self.begins), *self.depths]

    @property
    def conversations(self) -> list[str]:
        """The conversations up to the answers of each of `all_depths`."""
        return [at.path_to_conversations for at in self.all_depths]

    @property
    def user_turns(self) -> list[str]:
        """The user turns of each of `all_depths`."""
        return [at.path_to_user_turns for at in self.all_depths]

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of every judge on each of `all_depths`."""
        names = [f"verdicts/{judge}.parquet" for judge in self.grid.judges]
        return [f"results/{at.folder}/{name}" for at in self.all_depths for name in names]

    @cached_property
    def _scored(self) -> list[ScoredTurns]:
        return [s for s in scored_turns(self.grid) if s.turns == SELF_PLAY_TURNS]

    @property
    def scores(self) -> list[str]:
        """The scores of turns of all depths; none if likelihood is off."""
        return [f"results/likelihood/{scored.file}" for scored in self._scored]

    @property
    def identity(self) -> str:
        """The identity of the table of self-play."""
        judges = self.grid.judges
        first = [self.grid.verdicts_identity(cell, j) for cell in self.begins for j in judges]
        deeper = [self.verdicts_identity(at, j) for at in self.depths for j in judges]
        scores = [scores_identity(self.grid, scored) for scored in self._scored]
        return fingerprint([TABLE_VERSION, first, deeper, scores])
