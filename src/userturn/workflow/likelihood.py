"""The scores that tables of likelihood are made from."""

from userturn.sources.registry import sources
from userturn.study.grid import Grid


class LikelihoodGrid:
    """The scores of reference follow-ups and of own turns; none if likelihood is off."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    @property
    def scores(self) -> list[str]:
        """Paths of these scores; those of self-play and of reactions are apart."""
        found = sources()["scores"].asked(self.grid)
        return [of.path for of in sorted(found, key=lambda of: (of.model, of.dataset, of.name))]
