"""Models that are trained here, and their bases."""

from userturn.config.formats import model_of
from userturn.config.slurm_resources import Resources
from userturn.config.trained_models import trained_on, training_entry
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

DATA_VERSION = 1


class TrainingGrid:
    """The models of a grid that are trained here, and their bases."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid
        self.models = grid.trained
        entries = {name: training_entry(grid.entries[name]) for name in self.models}
        self.resources = Resources(entries, "logs/train/{wildcards.model}.log")

    def folder_of(self, model: str) -> list[str]:
        """Return the folder of a model that is trained here; nothing for any other."""
        name = model_of(model)
        return [f"results/training/{name}/model"] if name in self.models else []

    def base(self, model: str) -> list[str]:
        """Return the files of a model's base: its description, and its folder if it is trained."""
        base = self.grid.entries[model]["base"]
        return [f"results/models/{base}.json", *self.folder_of(base)]

    def source_files(self, model: str) -> list[str]:
        """Return the local files of a model's recipe."""
        parts = self.grid.contents.recipes[model]["data"]
        return [part["file"] for part in parts if "hub" not in part]

    def data_identity(self, model: str) -> str:
        """Return the identity of a model's training data."""
        return fingerprint([DATA_VERSION, self.grid.contents.training_data[model]])

    @property
    def evaluated(self) -> list[str]:
        """The items of all datasets on which models are evaluated."""
        return [f"results/datasets/{name}.parquet" for name in self.grid.datasets]

    @property
    def data(self) -> list[str]:
        """The training data of all models that are trained here."""
        return [f"results/training/{model}/data.parquet" for model in self.models]

    @property
    def declared(self) -> dict[str, list[str]]:
        """The datasets that the recipes of each trained model declare as seen."""
        return {
            name: sorted(trained_on(self.grid.entries, self.grid.contents.recipes, name))
            for name in self.models
        }
