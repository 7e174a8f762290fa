"""The scores that tables of likelihood are made from, and the tables' identity."""

from userturn.config.families import baselines, families
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.study.scored_turns import (
    HUMAN_TURNS,
    OWN_TURNS,
    ScoredTurns,
    scored_turns,
    scores_identity,
)
from userturn.workflow.humans import HumanGrid

LIKELIHOOD_VERSION = 2


class LikelihoodGrid:
    """The scores of reference follow-ups and of own turns; none if likelihood is off."""

    def __init__(self, grid: Grid, humans: HumanGrid) -> None:
        """Take the grid of a checked configuration, and people's labels."""
        self.grid = grid
        self.humans = humans

    @property
    def scores(self) -> list[str]:
        """Paths of the tables of scores of follow-ups and own turns, as rules write them."""
        return [f"results/likelihood/{scored.file}" for scored in self._scored]

    @property
    def _scored(self) -> list[ScoredTurns]:
        """Those tables; self-play and reactions have tables of their own."""
        return [s for s in scored_turns(self.grid) if s.turns in (HUMAN_TURNS, OWN_TURNS)]

    @property
    def identity(self) -> str:
        """The identity of the tables made from scores, verdicts and people's labels."""
        scores = [scores_identity(self.grid, scored) for scored in self._scored]
        compared = [families(self.grid.models), baselines(self.grid.models, self.grid.entries)]
        verdicts = self.grid.verdict_identities
        made = fingerprint([LIKELIHOOD_VERSION, scores, verdicts, compared])
        return fingerprint([made, self.humans.identity])
