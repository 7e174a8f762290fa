"""Inputs and params of rules/controls.smk."""

from functools import cached_property
from typing import Any

from userturn.config.formats import in_default
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid

HUMAN = "human"
CONTROLS_VERSION = 2
TABLE_VERSION = 3


class ControlGrid:
    """The controls of a grid: real user turns of some datasets, planted failures for all models."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration."""
        self.grid = grid
        self.n_planted = int(grid.config["controls"]["planted"])

    def turns_identity(self, model: str, dataset: str) -> str:
        """Return the identity of a control's user turns; `model` may be `human`."""
        if model == HUMAN:
            kind: list[Any] = [HUMAN, self.grid.dataset_identity(dataset)]
        else:
            seed = self.grid.config["seed"]
            answers = [
                self.grid.answers_identity(name, dataset) for name in (model, *self._other(model))
            ]
            kind = [answers, self.n_planted, seed, self.grid.contents.hard_failures]
        return fingerprint([CONTROLS_VERSION, *kind])

    @cached_property
    def _models(self) -> list[str]:
        """The models in the default format: in another they are not other models."""
        return list(in_default(self.grid.models))

    def _other(self, model: str) -> list[str]:
        """Return the next model, the first after the last; nothing if there is only one."""
        models = self._models
        place = models.index(model) + 1
        return (models[place:] + models[: place - 1])[:1]

    def other_answers(self, model: str, dataset: str) -> list[str]:
        """Return the file of another model's answers, to plant after a model's own, if any."""
        return [f"results/answers/{name}/{dataset}.parquet" for name in self._other(model)]

    def identity_of(self, model: str, dataset: str, judge: str) -> str:
        """Return the identity of one judge's verdicts on the controls of a model and dataset."""
        turns = self.turns_identity(model, dataset)
        return self.grid.judged_identity(turns, judge, f"controls/{model}/{dataset}")

    @property
    def sources(self) -> list[tuple[str, str]]:
        """Model (or `human`) and dataset of all controls; other formats would not test a judge."""
        human = [(HUMAN, dataset) for dataset in self.grid.human_datasets]
        models = self._models if self.n_planted else []
        return human + [(model, dataset) for model in models for dataset in self.grid.datasets]

    def human_turns_identity(self, dataset: str) -> str:
        """Return the identity of a dataset's real user turns."""
        return self.turns_identity(HUMAN, dataset)

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of every judge on all controls."""
        return [
            f"results/controls/{model}/{dataset}/verdicts/{judge}.parquet"
            for model, dataset in self.sources
            for judge in self.grid.judges
        ]

    @cached_property
    def identity(self) -> str:
        """The identity of the table of controls."""
        identities = [
            self.identity_of(model, dataset, judge)
            for model, dataset in self.sources
            for judge in self.grid.judges
        ]
        return fingerprint([TABLE_VERSION, identities])
