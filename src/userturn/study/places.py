"""Places: the names under which models and datasets were first asked, where their journals are."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Places:
    """The places of a study's models and datasets; most have that of their own name.

    Attributes:
        models: the place of each model that has another.
        datasets: the place of each dataset that has another; seeds and keys have it, too.
    """

    models: Mapping[str, str] = field(default_factory=dict)
    datasets: Mapping[str, str] = field(default_factory=dict)

    def of_model(self, model: str) -> str:
        """Return the name that a model was first asked under."""
        return self.models.get(model, model)

    def of_dataset(self, dataset: str) -> str:
        """Return the name that a dataset was first asked under."""
        return self.datasets.get(dataset, dataset)

    def of_pair(self, model: str, dataset: str) -> str:
        """Return the folder of a model and a dataset, below journals and plans."""
        return f"{self.of_model(model)}/{self.of_dataset(dataset)}"

    def of_folder(self, folder: str) -> str:
        """Return a folder of turns or grades by the names that they were first asked under."""
        kind, *names = folder.split("/")
        if len(names) < 2:  # of no model
            return folder
        model, dataset, *rest = names
        return "/".join([kind, self.of_pair(model, dataset), *rest])
