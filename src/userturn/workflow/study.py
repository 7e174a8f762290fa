"""The object that rules and the table of jobs ask, and every artifact of a study."""

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
from userturn.study.contents import HARDER_FAILURES, FileContents
from userturn.study.grid import Grid
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
    """A study as rules and the table of jobs ask it, in parts."""

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
        """The paths of the inputs of tables and the report, by the names that these use."""
        of_sources = {name: of(self.grid) for name, of in source_inputs().items()}
        return SimpleNamespace(**of_sources, **{name: of(self) for name, of in INPUTS.items()})

    @cached_property
    def identities(self) -> Identities:
        """The identities of all artifacts but tables, figures and the report, by path."""
        return {
            "results/study.json": self.record_identity,
            **self._identities_before_generation(),
            **artifacts(self.grid),
            **self._identities_after_turns(),
        }

    def _identities_before_generation(self) -> Identities:
        """Return the identities, by path, of files made before any generation."""
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

    def _identities_after_turns(self) -> Identities:
        """Return the identities, by path, of files made from user turns and of people's labels."""
        humans, identities = self.humans, Identities()
        for of in (self.languages, self.similarities):
            identities |= zip(of.files, starmap(of.identity_of, of.cells_of), strict=True)
        for cell in humans.cells:
            path = files_of([cell], "human_sample.parquet")[0]
            identities[path] = humans.sample_identity(cell)
        for kind in (humans, self.pairs):
            labels = map(kind.annotations_identity, kind.rounds)
            identities |= zip(kind.annotations, labels, strict=True)
            for file in ("task.html", "key.parquet", "items.parquet"):
                identities |= dict.fromkeys(kind.round_files(file))
        return identities

    @property
    def record_identity(self) -> str:
        """The identity of the study's record, from which an audit starts."""
        return study_record(self.grid.config, self.grid.contents).identity

    @property
    def report_identity(self) -> str:
        """The identity of the report, from its tables' identities and the settings it shows."""
        private = self.grid.private_datasets
        tables = [self.tables.identity_of(rule) for rule in self.tables.rules]
        about = self.grid.config.get("study")
        return fingerprint([REPORT_VERSION, tables, self.grid.primary_judge, private, about])

    @property
    def harder_frames(self) -> list[str]:
        """The path of the frames of harder planted failures, if some are planted."""
        return [HARDER_FAILURES] if self.grid.contents.harder_failures else []

    def identity(self, path: str) -> str:
        """Return the identity of a source's file, by its path from `results/` on."""
        return artifacts(self.grid)[path]

    def paths_behind_turns(self, folder: str) -> list[str]:
        """Return the paths from which the user turns in a folder of the results are made."""
        return list(judged(self.grid)[folder].input_paths)

    def check_setups(self) -> None:
        """End the program if an engine would refuse a model or served judge that it has to load.

        A model or judge without pending requests is not loaded, and so not checked.
        """
        looks = [  # the job that describes a model asks the hub
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
        """Check models and keys, and write the aliases, before the first job of a run."""
        self.check_setups()
        self.judges.check_keys()
        if isinstance(self.grid.contents, FileContents):
            self.grid.contents.keep_aliases()


def _refusal(look: Callable[[], None]) -> str | None:
    """Return why a check refuses a model, or None."""
    try:
        look()
    except UserError as error:
        return str(error)
    return None


@lru_cache(maxsize=16)
def asked_for(study: Study) -> Identities:
    """Return the identity of every artifact of a study, by path.

    Paths are those in rules, from `results/` on. An artifact that its inputs identify has None.
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
    """Return the paths of the files that a plain run makes, and makes again if lost."""
    tables = [path for name in study.tables.names for path in paths_of(name)]
    figures = [path for name in study.figures.names for path in paths_of_figure(name)]
    required = [path for path in asked_for(study) if not is_optional(path)]
    return list(dict.fromkeys(required + tables + figures))


def is_optional(path: str) -> bool:
    """Return whether an artifact may be missing, as samples of cells newer than the rounds."""
    return path.endswith("/human_sample.parquet")


def open_record(results: Path) -> tuple[StudyRecord, Study]:
    """Return the record of a results folder, and its study.

    Raises:
        UserError: there is no record, or it is not one of a study.
    """
    record = read_study_record(results)
    with understood(results):
        study = Study(record.grid(results))
        asked_for(study)  # fails for an incomplete record
        [study.grid.user_turn_settings(t) for t in study.grid.temperatures.values()]
        return record, study
