"""The tables that a study has, the files they are made from, and their identities."""

from operator import attrgetter

from userturn.config.families import baselines, families
from userturn.prompts.perturbations import controls_of
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, files_of
from userturn.study.grid import Grid
from userturn.workflow.humans import HumanGrid
from userturn.workflow.judges import JudgeGrid
from userturn.workflow.languages import LanguageGrid
from userturn.workflow.likelihood import LikelihoodGrid
from userturn.workflow.pairs import PairGrid
from userturn.workflow.registry import TABLES
from userturn.workflow.sources import (
    CandidateGrid,
    ChanceFloorGrid,
    ControlGrid,
    LabelledGrid,
    SelfPlayGrid,
)
from userturn.workflow.training import TrainingGrid
from userturn.workflow.turns import TurnGrid

SUMMARY_VERSION = 3
COUNTS_VERSION = 2  # of rates, accuracy, health
ANALYSIS_VERSION = 4
JUDGE_CARD_VERSION = 3
MADE_OF_REPLIES = ("likelihood", "self_play", "answer_signals")


class TableGrid:
    """The tables of a grid, and the inputs of each rule."""

    def __init__(
        self,
        grid: Grid,
        controls: ControlGrid,
        chance_floor: ChanceFloorGrid,
        labelled: LabelledGrid,
        judges: JudgeGrid,
        humans: HumanGrid,
        training: TrainingGrid,
        candidates: CandidateGrid,
        pairs: PairGrid,
    ) -> None:
        """Take the grid of a checked configuration, and the stages that tables read from."""
        self.grid: Grid = grid
        self.controls: ControlGrid = controls
        self.chance_floor: ChanceFloorGrid = chance_floor
        self.labelled: LabelledGrid = labelled
        self.judges: JudgeGrid = judges
        self.humans: HumanGrid = humans
        self.training: TrainingGrid = training
        self.candidates: CandidateGrid = candidates
        self.likelihood: LikelihoodGrid = LikelihoodGrid(grid, humans)
        self.by_turn: TurnGrid = TurnGrid(grid)
        self.languages: LanguageGrid = LanguageGrid(grid, humans)
        self.self_play: SelfPlayGrid = SelfPlayGrid(grid)
        self.pairs: PairGrid = pairs

    @property
    def names(self) -> list[str]:
        """The tables that apply to this study, in the order of the registry."""
        return [
            name
            for name, table in TABLES.items()
            if table.needs is None or attrgetter(table.needs)(self)
        ]

    @property
    def files(self) -> list[str]:
        """The Parquet files of those tables."""
        return [f"results/tables/{name}.parquet" for name in self.names]

    @property
    def rules(self) -> list[str]:
        """The rules that make those tables."""
        return list(dict.fromkeys(TABLES[name].rule for name in self.names))

    @property
    def made_of_replies(self) -> list[str]:
        """Paths of tables made of replies that cost, and not in every study: costs come after."""
        names = self.names
        return [f"results/tables/{name}.parquet" for name in MADE_OF_REPLIES if name in names]

    @property
    def _verdict_files(self) -> list[str]:
        return [f"verdicts/{judge}.parquet" for judge in self.grid.judges]

    def verdicts_of(self, cell: Cell) -> list[str]:
        """Return the verdicts of every judge on a cell."""
        return files_of([cell], *self._verdict_files)

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of every judge on all cells."""
        return files_of(self.grid.cells, *self._verdict_files)

    @property
    def user_turns(self) -> list[str]:
        """The user turns of all cells."""
        return files_of(self.grid.cells, "user_turns.parquet")

    @property
    def summaries(self) -> list[str]:
        """The summaries of all cells."""
        return files_of(self.grid.cells, "summary.parquet")

    @property
    def answers(self) -> list[str]:
        """The answers of all models to all datasets."""
        grid = self.grid
        return [f"results/answers/{m}/{d}.parquet" for m in grid.models for d in grid.datasets]

    @property
    def grades(self) -> list[str]:
        """The grades of all models and datasets."""
        grid = self.grid
        return [f"results/grades/{m}/{d}.parquet" for m in grid.models for d in grid.datasets]

    def summary_identity(self, cell: Cell) -> str:
        """Return the identity of the summary of a cell by all judges."""
        identities = [self.grid.verdicts_identity(cell, judge) for judge in self.grid.judges]
        return fingerprint([SUMMARY_VERSION, identities])

    @property
    def identity(self) -> str:
        """The identity of rates, health and accuracy."""
        grid = self.grid
        verifiers = {name: d["verifier"] for name, d in grid.datasets.items()}
        return fingerprint([COUNTS_VERSION, grid.verdict_identities, verifiers])

    @property
    def analysis_identity(self) -> str:
        """The identity of the tables that compare, pool and correlate."""
        grid = self.grid
        return fingerprint(
            {
                "version": ANALYSIS_VERSION,
                "study": self.identity,
                "judge card": [self.card_identity, grid.config.get("judge_card")],
                "families": families(grid.models),
                "baselines": baselines(grid.models, grid.entries),
                "trained_on": self.training.declared,
                "controls": controls_of(grid.perturbations),
                "drawing": [grid.config["seed"], grid.config["statistics"]["resamples"]],
            }
        )

    @property
    def margins_identity(self) -> str:
        """The identity of the table of claims: no other table depends on the margins.

        The record of a study may be older than the margins.
        """
        margins = self.grid.config["statistics"].get("margins")
        return fingerprint([self.analysis_identity, margins])

    @property
    def card_identity(self) -> str:
        """The identity of the table of judge cards."""
        known = [self.controls.identity, self.labelled.identity, self.humans.identity]
        return fingerprint([JUDGE_CARD_VERSION, *known])

    @property
    def shown_identity(self) -> str:
        """The identity of outputs by the primary judge: figures, comparison with the paper."""
        return fingerprint([self.analysis_identity, self.grid.primary_judge])

    @property
    def languages_identity(self) -> str:
        """The identity of the tables by language."""
        return fingerprint(
            [self.languages.identity, self.card_identity, families(self.grid.models)]
        )

    @property
    def shown_languages_identity(self) -> str:
        """The identity of the figure of rates by language."""
        return fingerprint([self.shown_identity, self.languages_identity])

    @property
    def shown_turns_identity(self) -> str:
        """The identity of the figure of rates after each turn of conversations."""
        return fingerprint([self.shown_identity, self.by_turn.identity])

    @property
    def shown_self_play_identity(self) -> str:
        """The identity of the figure of self-play."""
        return fingerprint([self.shown_identity, self.self_play.identity])

    @property
    def shown_likelihood_identity(self) -> str:
        """The identity of the figure of likelihood beside the primary judge's rates."""
        return fingerprint([self.shown_identity, self.likelihood.identity])
