"""Datasets and models before any GPU is used, and tables of turns by model and dataset."""

from functools import cached_property

from userturn.config.entries import EVERY_LANGUAGE, paths_of
from userturn.config.formats import model_of
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, by_source, files_of
from userturn.study.grid import Grid

DETECTION_VERSION = 1
EMBEDDING_VERSION = 1


class _TurnTables:
    """A table of turns for each model and dataset of some cells."""

    folder: str  # below the results

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    @property
    def cells(self) -> list[Cell]:
        """Those cells."""
        raise NotImplementedError

    @cached_property
    def _by_source(self) -> dict[tuple[str, str], list[Cell]]:
        return by_source(self.cells)

    @property
    def sources(self) -> list[tuple[str, str]]:
        """Model and dataset of these cells."""
        return list(self._by_source)

    def user_turns_of(self, model: str, dataset: str) -> list[str]:
        """Return the user turns of all cells of a model and dataset."""
        return files_of(self._by_source[model, dataset], "user_turns.parquet")

    def _cells_of(self, model: str, dataset: str) -> list[str]:
        return [self.grid.cell_identity(cell) for cell in self._by_source[model, dataset]]

    @property
    def files(self) -> list[str]:
        """The tables, by model and dataset."""
        return [f"results/{self.folder}/{m}/{d}.parquet" for m, d in self.sources]


class LanguageGrid(_TurnTables):
    """The languages of turns of the cells whose dataset's entry has `language: all`."""

    folder = "languages"

    @cached_property
    def cells(self) -> list[Cell]:
        """Those cells."""
        entries = self.grid.datasets
        told = {name for name in entries if entries[name].get("language") == EVERY_LANGUAGE}
        return [cell for cell in self.grid.cells if cell.dataset in told]

    def identity_of(self, model: str, dataset: str) -> str:
        """Return the identity of the languages of a model's turns on a dataset."""
        answers = self.grid.answers_identity(model, dataset)
        return fingerprint([DETECTION_VERSION, self._cells_of(model, dataset), answers])


class SimilarityGrid(_TurnTables):
    """The similarities of turns to people's, of all cells of a study with an embedder."""

    folder = "similarities"

    @property
    def cells(self) -> list[Cell]:
        """All cells, or none."""
        return self.grid.cells if self.grid.contents.embedder else []

    def identity_of(self, model: str, dataset: str) -> str:
        """Return the identity of the similarities of a model's turns on a dataset."""
        embedder = self.grid.contents.embedder
        return fingerprint([EMBEDDING_VERSION, self._cells_of(model, dataset), embedder])


class DataGrid:
    """The datasets and models of a grid, before anything is generated."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid

    def source_file(self, dataset: str) -> list[str]:
        """Return a dataset's local files, or nothing if they come from the hub."""
        settings = self.grid.config["datasets"][dataset]
        return [] if "hub" in settings else paths_of(settings)

    def n_rows(self, dataset: str) -> int | None:
        """Return the number of rows that a dataset's file is pinned to, or None."""
        n: int | None = self.grid.config["datasets"][dataset].get("rows")
        return n

    def verifier(self, dataset: str) -> str:
        """Return the verifier of a dataset."""
        return self.grid.datasets[dataset]["verifier"]

    def n_gradings_at_once(self, dataset: str) -> int:
        """Return how many requests a verifier may have in flight; 0 for one without a judge."""
        judge = self.grid.grader(dataset)
        return int(self.grid.all_judges[judge]["concurrency"]) if judge else 0

    def described_first(self, model: str) -> list[str]:
        """Return the description that fixes the revision of a model in another format."""
        name = model_of(model)
        return [f"results/models/{name}.json"] if name != model else []

    @property
    def prepared(self) -> list[str]:
        """The items of all datasets, those of controls and likelihood included."""
        return [f"results/datasets/{name}.parquet" for name in self.grid.prepared_datasets]

    @property
    def descriptions(self) -> list[str]:
        """The descriptions of all models of the run."""
        return [f"results/models/{model}.json" for model in self.grid.models]

    @property
    def descriptions_of_sources(self) -> list[str]:
        """The descriptions of the fetched models: those of the run, and bases of trained ones."""
        trained = set(self.grid.trained)
        sources = [name for name in self.grid.described if model_of(name) not in trained]
        return [f"results/models/{model}.json" for model in sources]
