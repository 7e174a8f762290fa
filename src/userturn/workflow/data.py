"""Datasets, models and trainings before any GPU is used, and tables made from user turns."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from userturn.config.entries import EVERY_LANGUAGE, paths_of
from userturn.config.formats import model_of
from userturn.config.job_resources import Resources
from userturn.config.trained_models import trained_on, training_entry
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, dataset_files, description_files, files_of
from userturn.study.grid import Grid

DATA_VERSION = 1
DETECTION_VERSION = 1
EMBEDDING_VERSION = 1


@dataclass(eq=False)
class DataGrid:
    """The datasets and models of a grid, before anything is generated."""

    grid: Grid

    def source_file(self, dataset: str) -> list[str]:
        """Return the paths of a dataset's local files, or none if it comes from the hub."""
        settings = self.grid.config["datasets"][dataset]
        return [] if "hub" in settings else paths_of(settings)

    def n_rows(self, dataset: str) -> int | None:
        """Return the number of rows that a dataset's file is pinned to, or None."""
        n: int | None = self.grid.config["datasets"][dataset].get("rows")
        return n

    def verifier(self, dataset: str) -> str:
        """Return the name of a dataset's verifier."""
        return self.grid.datasets[dataset]["verifier"]

    def n_gradings_at_once(self, dataset: str) -> int:
        """Return how many requests a dataset's verifier may have in flight, 0 without a judge."""
        judge = self.grid.grader(dataset)
        return int(self.grid.all_judges[judge]["concurrency"]) if judge else 0

    def described_first(self, model: str) -> list[str]:
        """Return the path of the default format's description, for a model in another format."""
        name = model_of(model)
        return description_files([name] if name != model else [])

    @property
    def prepared(self) -> list[str]:
        """The paths of all prepared datasets, also of datasets for controls and likelihood."""
        return dataset_files(self.grid.prepared_datasets)

    @property
    def descriptions(self) -> list[str]:
        """The paths of the descriptions of all models of the run."""
        return description_files(self.grid.models)

    @property
    def descriptions_of_sources(self) -> list[str]:
        """The paths of the descriptions of all models not trained here, bases included."""
        described, trained = self.grid.described, self.grid.trained
        return description_files(name for name in described if model_of(name) not in trained)


@dataclass(eq=False)
class TrainingGrid:
    """The models of a grid that are trained here, and their bases."""

    grid: Grid

    @cached_property
    def resources(self) -> Resources:
        """The resources of the training jobs."""
        entries = {name: training_entry(self.grid.entries[name]) for name in self.grid.trained}
        return Resources(entries, "logs/train/{wildcards.model}.log")

    def folder_of(self, model: str) -> list[str]:
        """Return the path of a model's folder if it is trained here, else nothing."""
        name = model_of(model)
        return [f"results/training/{name}/model"] if name in self.grid.trained else []

    def base(self, model: str) -> list[str]:
        """Return the path of the description of a model's base, and its folder if trained here."""
        base = self.grid.entries[model]["base"]
        return [*description_files([base]), *self.folder_of(base)]

    def source_files(self, model: str) -> list[str]:
        """Return the paths of the local files of a model's recipe."""
        parts = self.grid.contents.recipes[model]["data"]
        return [part["file"] for part in parts if "hub" not in part]

    def data_identity(self, model: str) -> str:
        """Return the identity of a model's training data."""
        return fingerprint([DATA_VERSION, self.grid.contents.training_data[model]])

    @property
    def data(self) -> list[str]:
        """The paths of the training data of all models that are trained here."""
        return [f"results/training/{model}/data.parquet" for model in self.grid.trained]

    @property
    def curves(self) -> list[str]:
        """The paths of the records of trainings that are measured at checkpoints."""
        recipes = self.grid.contents.recipes
        measured = [model for model in self.grid.trained if "curve" in recipes[model]]
        return [f"results/training/{model}/training.json" for model in measured]

    @property
    def declared(self) -> dict[str, list[str]]:
        """The datasets that the recipes of each trained model declare as seen."""
        return {
            name: sorted(trained_on(self.grid.entries, self.grid.contents.recipes, name))
            for name in self.grid.trained
        }


@dataclass(eq=False)
class _TurnTables:
    """Tables made from user turns, one per model and dataset of some cells."""

    grid: Grid

    folder: ClassVar[str]  # below the results

    @property
    def cells_of(self) -> dict[tuple[str, str], list[Cell]]:
        """The cells whose user turns are in each table, by model and dataset."""
        raise NotImplementedError

    def user_turns_of(self, model: str, dataset: str) -> list[str]:
        """Return the paths of the user turns that are in the table of a model and dataset."""
        return files_of(self.cells_of[model, dataset], "user_turns.parquet")

    def _identities_of(self, model: str, dataset: str) -> list[str]:
        return [self.grid.cell_identity(cell) for cell in self.cells_of[model, dataset]]

    @property
    def files(self) -> list[str]:
        """The paths of the tables, in the order of `cells_of`."""
        return [f"results/{self.folder}/{m}/{d}.parquet" for m, d in self.cells_of]


class LanguageGrid(_TurnTables):
    """The tables of languages of turns, for datasets whose entry has `language: all`."""

    folder = "languages"

    @cached_property
    def cells_of(self) -> dict[tuple[str, str], list[Cell]]:
        """The cells whose user turns are in each table, by model and dataset."""
        entries, every = self.grid.datasets, self.grid.cells_of
        told = {name for name in entries if entries[name].get("language") == EVERY_LANGUAGE}
        return {source: cells for source, cells in every.items() if source[1] in told}

    def identity_of(self, model: str, dataset: str) -> str:
        """Return the identity of the languages of a model's turns on a dataset."""
        answers = self.grid.answers_identity(model, dataset)
        return fingerprint([DETECTION_VERSION, self._identities_of(model, dataset), answers])


class SimilarityGrid(_TurnTables):
    """The tables of similarities of turns to people's, if the study has an embedder."""

    folder = "similarities"

    @property
    def cells_of(self) -> dict[tuple[str, str], list[Cell]]:
        """All cells by model and dataset, or none without an embedder."""
        return self.grid.cells_of if self.grid.contents.embedder else {}

    def identity_of(self, model: str, dataset: str) -> str:
        """Return the identity of the similarities of a model's turns on a dataset."""
        embedder = self.grid.contents.embedder
        return fingerprint([EMBEDDING_VERSION, self._identities_of(model, dataset), embedder])
