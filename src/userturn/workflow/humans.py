"""Rounds of annotation, and the cells they draw from."""

from collections.abc import Iterable
from typing import Any

from userturn.config.errors import ConfigError, near_miss
from userturn.config.families import families
from userturn.config.formats import DEFAULT, format_of, model_of
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, files_of, temperature_name
from userturn.study.grid import Grid
from userturn.workflow.rounds import RoundGrid

HUMANS_VERSION = 1


def _coordinate(cell: Cell, name: str) -> str:
    """Return a cell's model, format, dataset, temperature or perturbation."""
    if name == "format":
        return format_of(cell.model)
    return model_of(cell.model) if name == "model" else str(getattr(cell, name))


class HumanGrid(RoundGrid):
    """The rounds of annotation of a grid, and the cells that they draw from."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration.

        Raises:
            ConfigError: the judge whose labels make the strata is not in this run.
        """
        self.settings = grid.config["humans"]
        super().__init__(grid, "humans", self.settings["rounds"])
        self.judge: str = self.settings.get("judge", grid.primary_judge)
        if self.judge not in grid.judges:
            near = near_miss(self.judge, grid.judges)
            raise ConfigError(f"humans.judge: '{self.judge}' is not a judge of this run{near}")
        members = families(grid.models)
        self.families = {member.model: model_of(member.family) for member in members}
        self.private = grid.private_datasets
        chosen = [cell for cell in grid.cells if self._is_chosen(cell)]
        self.n_turns: int | None = self.settings.get("turns")
        self.skip_problems: bool = self.settings["skip_problems"]
        self.hidden = self._hidden()
        self.cells = [cell for cell in chosen if cell.dataset not in self.hidden]
        self.n_hidden = len(chosen) - len(self.cells)

    def _hidden(self) -> list[str]:
        """Return the private datasets that annotators may not see.

        Raises:
            ConfigError: the config lets them see a dataset that is not defined.
        """
        shown: bool | list[str] = self.settings["include_private"]
        if isinstance(shown, bool):
            return [] if shown else self.private
        for name in shown:
            if name not in self.grid.config["datasets"]:
                near = near_miss(name, list(self.grid.config["datasets"]))
                raise ConfigError(f"humans.include_private: '{name}' is not defined{near}")
        return [name for name in self.private if name not in shown]

    def _is_chosen(self, cell: Cell) -> bool:
        """Return whether the config draws from a cell.

        Raises:
            ConfigError: humans.from names something that is not defined.
        """
        for key, names in self.settings.get("from", {}).items():
            known = [str(name) for name in self._defined(key)]
            named = [temperature_name(n) if key == "temperatures" else str(n) for n in names]
            for name in named:
                if key != "temperatures" and name not in known:
                    near = near_miss(name, known)
                    raise ConfigError(f"humans.from.{key}: '{name}' is not defined{near}")
            if _coordinate(cell, key.removesuffix("s")) not in named:
                return False
        return True

    def _defined(self, key: str) -> Iterable[Any]:
        return (
            [DEFAULT, *self.grid.config.get(key, [])] if key == "formats" else self.grid.config[key]
        )

    def sample_identity(self, cell: Cell) -> str:
        """Return the identity of one cell's human sample."""
        wanted = [self.settings["per_stratum"], self.settings["genuine"], self.grid.config["seed"]]
        verdicts = self.grid.verdicts_identity(cell, self.judge)
        return fingerprint([HUMANS_VERSION, verdicts, wanted])

    def sampling_verdicts(self, cell: Cell) -> str:
        """Return the verdicts that make the strata of a cell."""
        return files_of([cell], f"verdicts/{self.judge}.parquet")[0]

    def samples_to_draw(self, round_name: str) -> list[str]:
        """Return the human samples that a round is drawn from; none if it is drawn."""
        samples = files_of(self.cells, "human_sample.parquet")
        return self.unless_drawn(round_name, samples)

    def earlier_annotations(self, round_name: str) -> list[str]:
        """Return the labels of the rounds before one, if its turns are allocated by them."""
        earlier = self.before(round_name) if self.n_turns else []
        return self.unless_drawn(round_name, self.of_rounds("annotations.parquet", earlier))

    def annotations_identity(self, round_name: str) -> str:
        """Return the identity of a round's labels: of its files' content and the rubric's."""
        contents = self.grid.contents
        files = contents.annotations[round_name]
        return fingerprint([HUMANS_VERSION, files, self.skip_problems, contents.rubric])
