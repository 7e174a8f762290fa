"""The grid of a study: its cells, the identity of each, and where their files are."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from userturn.config.dataset_keys import DatasetEntry
from userturn.config.endpoint_models import model_prices
from userturn.config.entries import (
    Config,
    asked_judges,
    grader,
    human_datasets,
    prepared_datasets,
    private_mark,
    selected,
)
from userturn.config.formats import default_format_models, models_in_formats
from userturn.config.model_keys import ModelEntry
from userturn.config.trained_models import complete_entries, described
from userturn.config.trust import confined
from userturn.datasets.fetch import complete, shaping
from userturn.judges.kinds import complete_judges
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, group_by_source, temperature_name
from userturn.study.contents import Contents, FileContents


def read_rounds(path: Path) -> dict[str, int]:
    """Return how often the verdicts of each folder were voided, empty if never."""
    rounds: dict[str, int] = json.loads(path.read_text()) if path.is_file() else {}
    return rounds


@dataclass(frozen=True)
class Places:
    """The first names of a study's models and datasets that were renamed.

    A place is the name in paths, and for a dataset in seeds and keys as well.
    """

    models: Mapping[str, str] = field(default_factory=dict)  # by present name
    datasets: Mapping[str, str] = field(default_factory=dict)  # by present name

    def model_name(self, model: str) -> str:
        """Return the name that a model was first asked under."""
        return self.models.get(model, model)

    def dataset_name(self, dataset: str) -> str:
        """Return the name that a dataset was first asked under."""
        return self.datasets.get(dataset, dataset)

    def pair_folder(self, model: str, dataset: str) -> str:
        """Return the folder of a model and a dataset, below journals and plans."""
        return f"{self.model_name(model)}/{self.dataset_name(dataset)}"

    def turns_folder(self, folder: str) -> str:
        """Return a folder of turns or grades with the names that they were first asked under."""
        if folder.count("/") < 2:  # of no model
            return folder
        kind, model, dataset, *rest = folder.split("/")
        return "/".join([kind, self.pair_folder(model, dataset), *rest])


IDENTITY_VERSION = 1


class Grid:
    """All cells of one configuration, with the identity of each."""

    def __init__(
        self,
        config: Config,
        results: str | Path = "results",
        contents: Contents | None = None,
        confined_to: Path | None = None,
    ) -> None:
        """Take a checked configuration, whose files are read when needed if `contents` is None.

        If `confined_to` is given, no file outside of that folder is opened.
        """
        self.config = config
        self.confined_to = confined_to
        self.results = Path(results)
        self.contents = contents or FileContents(config, results)
        self.entries = complete_entries(config, results)
        self.models: dict[str, ModelEntry] = {
            name: self.entries[name] for name in models_in_formats(config)
        }
        self.datasets: dict[str, DatasetEntry] = selected(config, "datasets")
        self.human_datasets = human_datasets(config)
        self.prepared_datasets = dict(sorted(prepared_datasets(config).items()))
        self.perturbations = selected(config, "perturbations")
        self.all_judges = complete_judges(config)
        self.judges = {name: self.all_judges[name] for name in selected(config, "judges")}
        chosen = config.get("run", {}).get("temperatures", config["temperatures"])
        self.temperatures = {temperature_name(t): float(t) for t in sorted(chosen)}

    @property
    def prices(self) -> dict[str, Any]:
        """The prices per million tokens of the judges and models of the run that have a price."""
        judges = {name: e["price"] for name, e in self.judges.items() if "price" in e}
        return judges | model_prices(self.models)

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, sorted."""
        axes = self.models, self.datasets, self.temperatures, self.perturbations
        return [Cell(*names) for names in product(*axes)]

    @cached_property
    def cells_of(self) -> dict[tuple[str, str], list[Cell]]:
        """The cells of each model and dataset."""
        return group_by_source(self.cells)

    def training_identity(self, model: str) -> str:
        """Return the identity of a trained model's training."""
        return str(self.contents.models[model]["source"]).removeprefix("trained:")

    @cached_property
    def described(self) -> list[str]:
        """The models of the grid and the models that they were trained from, sorted."""
        return described(self.config)

    @cached_property
    def trained(self) -> list[str]:
        """The models of `described` that a recipe trains here, in the default format, sorted."""
        in_default = default_format_models({name: self.entries[name] for name in self.described})
        return [name for name, entry in in_default.items() if "recipe" in entry]

    def dataset_settings(self, dataset: str) -> dict[str, Any]:
        """Return a dataset's entry, complete with the text of its instruction and its seed."""
        entry = self.opened(self.config["datasets"][dataset])
        return complete(entry, self.config, self.contents.ids)

    def opened(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return an entry of a dataset or model with only the files that may be opened."""
        return dict(entry) if self.confined_to is None else confined(entry, self.confined_to)

    def n_samples(self, temperature: str) -> int:
        """Return the number of samples per item at a temperature, 1 for greedy decoding."""
        return self.config["samples"] if self.temperatures[temperature] > 0 else 1

    def answer_settings(self, model: str) -> dict[str, Any]:
        """Return the sampling settings of a model's answers: its entry's, else the study's."""
        settings = {**self.config["answer"], **self.models[model].get("answer", {})}
        return {name: value for name, value in settings.items() if name != "samples"}

    def user_turn_settings(self, temperature: float) -> dict[str, Any]:
        """Return the sampling settings of user turns at a temperature."""
        return {**self.config["user_turn"], "temperature": temperature}

    def dataset_identity(self, dataset: str) -> str:
        """Return the identity of a dataset's prepared table, also of one that no run selects."""
        identities = self.contents.datasets
        if dataset not in identities and dataset in self.config["datasets"]:
            return fingerprint(shaping(self.dataset_settings(dataset)))
        return identities[dataset]

    @cached_property
    def _answer_identities(self) -> dict[tuple[str, str], str]:
        return {
            (model, dataset): fingerprint(
                {
                    "version": IDENTITY_VERSION,
                    "model": self.contents.models[model],
                    "dataset": self.contents.datasets[dataset],
                    "answer": self.answer_settings(model),
                    "seed": self.config["seed"],
                }
            )
            for model in self.models
            for dataset in self.datasets
        }

    def answers_identity(self, model: str, dataset: str) -> str:
        """Return the identity of a model's answers to a dataset."""
        return self._answer_identities[model, dataset]

    @cached_property
    def _cell_identities(self) -> dict[Cell, str]:
        return {
            cell: fingerprint(
                {
                    "answers": self._answer_identities[cell.model, cell.dataset],
                    "user_turn": self.config["user_turn"],
                    "temperature": self.temperatures[cell.temperature],
                    "samples": self.n_samples(cell.temperature),
                    "perturbation": self.contents.perturbations[cell.perturbation],
                }
            )
            for cell in self.cells
        }

    def cell_identity(self, cell: Cell) -> str:
        """Return the identity of a cell's user turns."""
        return self._cell_identities[cell]

    def at(self, path: str) -> Path:
        """Return the path of a file that rules name from `results/` on."""
        return self.results / path.removeprefix("results/")

    def dataset_path(self, dataset: str) -> Path:
        """Return the path of a dataset's prepared table."""
        return self.results / "datasets" / f"{dataset}.parquet"

    @cached_property
    def places(self) -> Places:
        """The names that models and datasets were first asked under."""
        return Places(**self.contents.places)

    def requests_folder(self, model: str, dataset: str, identity: str) -> Path:
        """Return the folder of the plans of a table, such as a cell, by the table's identity."""
        return self.results / "requests" / self.places.pair_folder(model, dataset) / identity

    def journal_folder(self, model: str, dataset: str) -> Path:
        """Return the folder of the journal of a model and dataset."""
        return self.results / "journal" / self.places.pair_folder(model, dataset)

    def leases_folder(self, model: str) -> Path:
        """Return the folder of the leases of a model's sweeps."""
        return self.results / "leases" / model

    @property
    def accounts_folder(self) -> Path:
        """The folder of judges' accounts, one file per process, judge and cell."""
        return self.results / "journal" / "costs"

    @property
    def primary_judge(self) -> str:
        """The judge that figures and comparisons use."""
        return str(self.config["primary_judge"])

    def grader(self, dataset: str) -> str | None:
        """Return the judge that grades a dataset by its rubrics, or None for another verifier."""
        return grader(self.datasets[dataset])

    @cached_property
    def asked_judges(self) -> list[str]:
        """The judges of user turns and the judges that grade answers, sorted."""
        return asked_judges(self.config)

    @property
    def private_datasets(self) -> list[str]:
        """The datasets whose rows are never shown, sorted."""
        return [name for name, entry in self.datasets.items() if private_mark(entry)]

    def judge_identity(self, judge: str) -> Mapping[str, Any]:
        """Return the parts of a judge's entry that shape its verdicts."""
        return self.contents.judges[judge]

    @cached_property
    def _rounds(self) -> dict[str, dict[str, int]]:
        return {name: read_rounds(self.rounds_path(name)) for name in self.asked_judges}

    def n_rejudged(self, judge: str, folder: str) -> int:
        """Return how often a judge's unscored verdicts or grades on a folder were voided."""
        return self._rounds[judge].get(self.places.turns_folder(folder), 0)

    def rounds_path(self, judge: str) -> Path:
        """Return the path of the counts of how often a judge's unscored verdicts were voided."""
        return self.results / "journal" / "judges" / judge / "rejudged.json"

    def judged_identity(self, turns: str, judge: str, folder: str) -> str:
        """Return the identity of a judge's verdicts on the turns of a folder.

        `turns` is the identity of these turns. Voiding verdicts changes their identity.
        """
        identity = fingerprint([turns, judge, self.judge_identity(judge)])
        n = self.n_rejudged(judge, folder)
        return fingerprint([identity, n]) if n else identity

    def verdicts_identity(self, cell: Cell, judge: str) -> str:
        """Return the identity of one judge's verdicts on a cell."""
        return self.judged_identity(self.cell_identity(cell), judge, f"cells/{cell.folder}")

    def model_fingerprint(self, model: str) -> str:
        """Return the fingerprint of a model's identity."""
        return fingerprint(self.contents.models[model])

    def shards(self, model: str) -> list[str]:
        """Return the names of a model's shards, such as 1of2 and 2of2."""
        n = self.models[model]["shards"]
        return [f"{i}of{n}" for i in range(1, n + 1)]
