"""The object that rules ask, with one part for each rules file."""

from collections.abc import Callable
from functools import cached_property, partial
from types import SimpleNamespace

from userturn.errors import UserError
from userturn.judges.served_setup import check_served_judge
from userturn.sources.registry import artifacts, judged, source_inputs
from userturn.study.grid import Grid
from userturn.study.inputs import FileContents
from userturn.study.model_setup import look_at_model
from userturn.workflow.artifacts import Identities, made_before_tables
from userturn.workflow.audit import AuditGrid
from userturn.workflow.data import DataGrid
from userturn.workflow.figures import FigureGrid
from userturn.workflow.generation import GenerationGrid
from userturn.workflow.humans import HumanGrid
from userturn.workflow.judges import JudgeGrid
from userturn.workflow.languages import LanguageGrid
from userturn.workflow.pairs import PairGrid
from userturn.workflow.pending import Pending
from userturn.workflow.report import ReportGrid
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
        self.judges = JudgeGrid(grid, self.pending)
        self.humans = HumanGrid(grid)
        self.pairs = PairGrid(self.humans)
        self.languages = LanguageGrid(grid)
        self.by_turn = TurnGrid(grid)
        self.tables = TableGrid(self)
        self.figures = FigureGrid(self.tables)
        self.report = ReportGrid(grid, self.tables)
        self.audit = AuditGrid(grid)

    @cached_property
    def of_sources(self) -> SimpleNamespace:
        """The paths of what analyses of sources are made of, by the names that these use."""
        return SimpleNamespace(**{name: of(self.grid) for name, of in source_inputs().items()})

    @cached_property
    def identities(self) -> Identities:
        """The identities of all files that tables are made from, by path."""
        return made_before_tables(self)

    @property
    def made_by_sources(self) -> list[str]:
        """The paths of all answers, turns, scores, verdicts and grades."""
        return [*artifacts(self.grid)]

    def identity(self, path: str) -> str:
        """Return the identity of a file of a source by its path, from `results/` on."""
        return artifacts(self.grid)[path]

    def made_of(self, folder: str) -> list[str]:
        """Return the paths of what the user turns in a folder below the results are made of."""
        return list(judged(self.grid)[folder].made_of)

    def check_setups(self) -> None:
        """End the program if an engine would refuse models, or served judges, that it is to load.

        What was asked of them may be finished: then none is loaded.
        """
        looks = [  # at the hub, a description does
            partial(look_at_model, self.grid, name, asks_hub=False)
            for name in sorted({of.model for of in self.pending.tables.values()})
        ]
        looks += [
            partial(check_served_judge, name, self.grid.judges[name])
            for name, turns in self.judges.pending.items()
            if turns and self.grid.judges[name].get("serve")
        ]
        if refused := [*filter(None, map(_refusal, looks))]:
            raise SystemExit("\n".join(f"error: {reason}" for reason in refused))

    def begin(self) -> None:
        """Do what comes before the first job of a run: check models and keys, note the known."""
        self.check_setups()
        self.judges.check_keys()
        if isinstance(self.grid.contents, FileContents):
            self.grid.contents.keep_aliases()


def _refusal(look: Callable[[], None]) -> str | None:
    """Return why a model is refused, or None."""
    try:
        look()
    except UserError as error:
        return str(error)
    return None
