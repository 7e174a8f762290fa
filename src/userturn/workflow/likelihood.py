"""The scores that tables of likelihood are made from, and the tables' identity."""

from userturn.config.families import baselines, families
from userturn.sources.registry import sources
from userturn.sources.source import Asked
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
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
        return [scored.path for scored in self._scored]

    @property
    def _scored(self) -> list[Asked]:
        """Those tables; self-play and reactions have tables of their own."""
        found = sources()["scores"].asked(self.grid)
        return sorted(found, key=lambda of: (of.model, of.dataset, of.name))

    @property
    def identity(self) -> str:
        """The identity of the tables made from scores, verdicts and people's labels."""
        scores = [scored.identity for scored in self._scored]
        compared = [families(self.grid.models), baselines(self.grid.models, self.grid.entries)]
        verdicts = self.grid.verdict_identities
        made = fingerprint([LIKELIHOOD_VERSION, scores, verdicts, compared])
        return fingerprint([made, self.humans.identity])
