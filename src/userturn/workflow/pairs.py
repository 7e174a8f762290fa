"""Rounds of pairs, and the cells they draw from."""

from userturn.config.entries import pair_rounds
from userturn.config.errors import ConfigError
from userturn.prompts.perturbations import needs_reference
from userturn.storage.hashing import fingerprint
from userturn.study.cells import files_of
from userturn.workflow.humans import HumanGrid
from userturn.workflow.rounds import RoundGrid

PAIRS_VERSION = 1


class PairGrid(RoundGrid):
    """The rounds of pairs of a grid, and the cells that they draw from; none if they are off."""

    def __init__(self, humans: HumanGrid) -> None:
        """Take the rounds of labels of a grid.

        Raises:
            ConfigError: a round has the name of a round of labels, or no cell has pairs.
        """
        super().__init__(humans.grid, "pairs", pair_rounds(humans.grid.config))
        self.per_cell: int = humans.settings["pairs"]["per_cell"] if self.rounds else 0
        self.skip_problems: bool = humans.settings["skip_problems"]
        self._check(humans)
        operators = humans.grid.perturbations
        compared = [c for c in self.grid.cells if needs_reference(operators[c.perturbation])]
        if self.rounds and not compared:
            raise ConfigError(
                "humans.pairs: no perturbation of this run shows a dataset's own answer, to which "
                "a person replied; add 'reference_answer' to run.perturbations, or remove "
                "humans.pairs"
            )
        self.cells = [c for c in compared if self.rounds and c.dataset not in humans.hidden]

    def _check(self, humans: HumanGrid) -> None:
        for name in self.rounds:
            if name in humans.rounds:
                raise ConfigError(
                    f"humans.pairs.rounds: '{name}' is also in humans.rounds, and would take its "
                    "files; choose another name"
                )

    def annotations_identity(self, round_name: str) -> str:
        """Return the identity of a round's labels: of its files' content."""
        files = self.grid.contents.annotations[round_name]
        return fingerprint([PAIRS_VERSION, files, self.skip_problems])

    @property
    def user_turns(self) -> list[str]:
        """Paths of the user turns of the cells."""
        return files_of(self.cells, "user_turns.parquet")
