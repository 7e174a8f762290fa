"""Params of rules/controls.smk about the project's own labelled user turns."""

from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

LABELLED = "labelled"  # as a model, a dataset and a control
LABELLED_VERSION = 1


class LabelledGrid:
    """The labelled turns that every judge of a grid reads."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid
        # A study from before there were labelled turns has none.
        self.is_on = bool(grid.config["controls"].get("labelled", False))

    @property
    def sources(self) -> list[tuple[str, str]]:
        """Model and dataset, as for other turns of a known kind; empty if they are off."""
        return [(LABELLED, LABELLED)] if self.is_on else []

    @property
    def turns_identity(self) -> str:
        """The identity of the labelled turns."""
        return fingerprint([LABELLED_VERSION, self.grid.contents.labelled])

    def identity_of(self, model: str, dataset: str, judge: str) -> str:
        """Return the identity of one judge's verdicts on the labelled turns."""
        return self.grid.judged_identity(self.turns_identity, judge, LABELLED)

    def verdicts_identity(self, judge: str) -> str:
        """Return the identity of one judge's verdicts on the labelled turns."""
        return self.identity_of(LABELLED, LABELLED, judge)

    @property
    def items(self) -> list[str]:
        """The conversations of the labelled turns, with their labels."""
        return [f"results/datasets/{LABELLED}.parquet"] if self.is_on else []

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of every judge on the labelled turns."""
        judges = self.grid.judges if self.is_on else []
        return [f"results/labelled/verdicts/{judge}.parquet" for judge in judges]

    @property
    def identity(self) -> str:
        """The identity of all verdicts on the labelled turns."""
        return fingerprint([self.verdicts_identity(judge) for judge in self.grid.judges])
