"""The object that rules ask, with one part for each rules file."""

from functools import cached_property

from userturn.sources.registry import artifacts, judged
from userturn.study.grid import Grid
from userturn.study.inputs import FileContents
from userturn.workflow.artifacts import Identities, made_before_tables
from userturn.workflow.audit import AuditGrid
from userturn.workflow.data import DataGrid
from userturn.workflow.figures import FigureGrid
from userturn.workflow.generation import GenerationGrid
from userturn.workflow.humans import HumanGrid
from userturn.workflow.judges import JudgeGrid
from userturn.workflow.languages import LanguageGrid
from userturn.workflow.likelihood import LikelihoodGrid
from userturn.workflow.pairs import PairGrid
from userturn.workflow.pending import Pending
from userturn.workflow.report import ReportGrid
from userturn.workflow.sources import (
    CandidateGrid,
    ChanceFloorGrid,
    ControlGrid,
    LabelledGrid,
    SelfPlayGrid,
)
from userturn.workflow.tables import TableGrid
from userturn.workflow.training import TrainingGrid
from userturn.workflow.turns import TurnGrid


class Study:
    """A grid as rules see it."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid: Grid = grid
        self.pending = Pending(grid)
        self.data = DataGrid(grid)
        self.training: TrainingGrid = TrainingGrid(grid)
        self.generation = GenerationGrid(grid, self.pending)
        self.controls = ControlGrid(grid)
        self.chance_floor = ChanceFloorGrid(grid)
        self.labelled = LabelledGrid(grid)
        self.candidates = CandidateGrid(grid)
        self.self_play = SelfPlayGrid(grid)
        self.judges = JudgeGrid(grid, self.pending)
        self.humans = HumanGrid(grid)
        self.pairs = PairGrid(self.humans)
        self.languages = LanguageGrid(grid)
        self.likelihood = LikelihoodGrid(grid)
        self.by_turn = TurnGrid(grid)
        self.tables = TableGrid(self)
        self.figures = FigureGrid(self.tables)
        self.report = ReportGrid(grid, self.tables)
        self.audit = AuditGrid(grid)

    @cached_property
    def identities(self) -> Identities:
        """The identities of all files that tables are made from, by path."""
        return made_before_tables(self)

    def identity(self, path: str) -> str:
        """Return the identity of a file of a source by its path, from `results/` on."""
        return artifacts(self.grid)[path]

    def made_of(self, folder: str) -> list[str]:
        """Return the paths of what the user turns in a folder below the results are made of."""
        return list(judged(self.grid)[folder].made_of)

    def begin(self) -> None:
        """Do what comes before the first job of a run: check keys, and note what is known."""
        self.judges.check_keys()
        if isinstance(self.grid.contents, FileContents):
            self.grid.contents.keep_aliases()
