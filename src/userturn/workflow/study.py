"""The object that rules ask, with one part for each rules file, and every artifact of a study."""

from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from itertools import starmap
from pathlib import Path
from types import SimpleNamespace

from userturn.errors import UserError
from userturn.judges.check_entries import check_served_judge
from userturn.sources.registry import artifacts, judged, source_inputs
from userturn.storage.hashing import fingerprint
from userturn.study.cells import description_files, files_of
from userturn.study.grid import Grid
from userturn.study.inputs import HARDER_FAILURES, FileContents
from userturn.study.model_description import look_at_model
from userturn.study.record import StudyRecord, read_study_record, study_record, understood
from userturn.workflow.data import DataGrid, LanguageGrid, SimilarityGrid, TrainingGrid
from userturn.workflow.humans import HumanGrid, PairGrid
from userturn.workflow.judges import JudgeGrid
from userturn.workflow.pending import GenerationGrid, Pending
from userturn.workflow.registry import FIGURES, TABLES, paths_of, paths_of_figure
from userturn.workflow.tables import INPUTS, FigureGrid, TableGrid

REPORT_VERSION = 3
Identities = dict[str, str | None]


class Study:
    """A grid as rules see it."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid: Grid = grid
        self.pending: Pending = Pending(grid)
        self.data: DataGrid = DataGrid(grid)
        self.training: TrainingGrid = TrainingGrid(grid)
        self.generation = GenerationGrid(grid, self.pending)
        self.judges = JudgeGrid(grid, self.pending)
        self.humans: HumanGrid = HumanGrid(grid)
        self.pairs: PairGrid = PairGrid(self.humans)
        self.languages: LanguageGrid = LanguageGrid(grid)
        self.similarities: SimilarityGrid = SimilarityGrid(grid)
        self.tables = TableGrid(self)
        self.figures = FigureGrid(self.tables)

    @cached_property
    def inputs(self) -> SimpleNamespace:
        """The paths of what tables and the report are made of, by the names that these use."""
        of_sources = {name: of(self.grid) for name, of in source_inputs().items()}
        return SimpleNamespace(**of_sources, **{name: of(self) for name, of in INPUTS.items()})

    @cached_property
    def identities(self) -> Identities:
        """The identities of all files that tables are made from, by path."""
        return {
            "results/study.json": self.record_identity,
            **self._made_before(),
            **artifacts(self.grid),
            **self._made_of_turns(),
        }

    def _made_before(self) -> Identities:
        """Return the identity of what is made before anything is generated."""
        grid, training = self.grid, self.training
        of_datasets = map(grid.dataset_identity, grid.prepared_datasets)
        of_models = map(grid.model_fingerprint, grid.described)
        records = {
            f"results/training/{name}/training.json": grid.training_identity(name)
            for name in grid.trained
        }
        return {
            **dict(zip(self.data.prepared, of_datasets, strict=True)),
            **dict(zip(description_files(grid.described), of_models, strict=True)),
            **dict(zip(training.data, map(training.data_identity, grid.trained), strict=True)),
            **records,
        }

    def _made_of_turns(self) -> Identities:
        """Return the identity of what is told of user turns, and of people's labels."""
        humans, found = self.humans, Identities()
        for of in (self.languages, self.similarities):
            found |= zip(of.files, starmap(of.identity_of, of.cells_of), strict=True)
        for cell in humans.cells:
            path = files_of([cell], "human_sample.parquet")[0]
            found[path] = humans.sample_identity(cell)
        for kind in (humans, self.pairs):
            labels = map(kind.annotations_identity, kind.rounds)
            found |= zip(kind.annotations, labels, strict=True)
            for file in ("task.html", "key.parquet", "items.parquet"):
                found |= dict.fromkeys(kind.of_rounds(file))
        return found

    @property
    def record_identity(self) -> str:
        """The identity of the study's record, from which an audit starts."""
        return study_record(self.grid.config, self.grid.contents).identity

    @property
    def report_identity(self) -> str:
        """The identity of the report: the settings that affect it besides its input files."""
        private = self.grid.private_datasets
        tables = [self.tables.identity_of(rule) for rule in self.tables.rules]
        about = self.grid.config.get("study")
        return fingerprint([REPORT_VERSION, tables, self.grid.primary_judge, private, about])

    @property
    def harder_frames(self) -> list[str]:
        """The file of frames of harder planted failures, if some are planted."""
        return [HARDER_FAILURES] if self.grid.contents.harder_failures else []

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


@lru_cache(maxsize=16)
def asked_for(study: Study) -> Identities:
    """Return the identity of every artifact of a study, by path.

    Paths are those in rules, from `results/` on. None means that an artifact has no identity of its
    own, because its inputs identify it.
    """
    tables = {
        f"results/tables/{name}.parquet": study.tables.identity_of(TABLES[name].rule)
        for name in study.tables.names
    }
    figures = {
        f"results/figures/{name}.vl.json": study.figures.identity_of(FIGURES[name].rule)
        for name in study.figures.names
    }
    report = {"results/report/index.html": study.report_identity}
    return {**study.identities, **tables, **figures, **report}


def targets(study: Study) -> list[str]:
    """Return the files that a plain run makes: each that is lost comes back."""
    tables = [path for name in study.tables.names for path in paths_of(name)]
    figures = [path for name in study.figures.names for path in paths_of_figure(name)]
    made = [path for path in asked_for(study) if not is_optional(path)]
    return list(dict.fromkeys(made + tables + figures))


def is_optional(path: str) -> bool:
    """Return whether an artifact may be missing, as that of cells added after a round was drawn."""
    return path.endswith("/human_sample.parquet")


def open_record(results: Path) -> tuple[StudyRecord, Study]:
    """Return the record of a results folder, and its study.

    Raises:
        UserError: there is no record, or it is not one of a study.
    """
    record = read_study_record(results)
    with understood(results):
        study = Study(record.grid(results))
        asked_for(study)  # an incomplete record cannot say what it asks for
        [study.grid.user_turn_settings(t) for t in study.grid.temperatures.values()]
        return record, study
