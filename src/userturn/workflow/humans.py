"""Inputs and params of rules/humans.smk: rounds of annotation, and the cells they draw from."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from userturn.config.errors import ConfigError, near_miss
from userturn.config.families import families
from userturn.config.formats import DEFAULT, format_of, model_of
from userturn.storage.hashing import fingerprint
from userturn.study.cells import Cell, files_of, temperature_name
from userturn.study.grid import Grid
from userturn.study.inputs import annotation_files

HUMANS_VERSION = 1
TABLES_VERSION = 3  # of the tables made from people's labels


def _coordinate(cell: Cell, name: str) -> str:
    """Return a cell's model, format, dataset, temperature or perturbation."""
    if name == "format":
        return format_of(cell.model)
    return model_of(cell.model) if name == "model" else str(getattr(cell, name))


class HumanGrid:
    """The rounds of annotation of a grid, and the cells that they draw from."""

    def __init__(self, grid: Grid) -> None:
        """Take the grid of a checked configuration.

        Raises:
            ConfigError: the judge whose labels make the strata is not in this run.
        """
        self.grid = grid
        self.settings = grid.config["humans"]
        self.judge: str = self.settings.get("judge", grid.primary_judge)
        if self.judge not in grid.judges:
            near = near_miss(self.judge, grid.judges)
            raise ConfigError(f"humans.judge: '{self.judge}' is not a judge of this run{near}")
        self.rounds: list[str] = self.settings["rounds"]
        members = families(grid.models)
        self.families = {member.model: model_of(member.family) for member in members}
        self.private = grid.private_datasets
        chosen = [cell for cell in grid.cells if self._is_chosen(cell)]
        self.n_turns: int | None = self.settings.get("turns")
        hidden = self._hidden()
        self.cells = [cell for cell in chosen if cell.dataset not in hidden]
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

    def drawn_folder(self, round_name: str) -> Path:
        """Return the folder of a drawn round: not a rule's output, so that no rerun deletes it."""
        return self.grid.results / "drawn" / round_name

    def is_drawn(self, round_name: str) -> bool:
        """Return whether a round was drawn; it is never redrawn, even if the grid changes."""
        folder = self.drawn_folder(round_name)
        return all((folder / name).is_file() for name in ("key.parquet", "items.parquet"))

    def _unless_drawn(self, round_name: str, paths: list[str]) -> list[str]:
        return [] if self.is_drawn(round_name) else paths

    def user_turns_to_draw(self, round_name: str) -> list[str]:
        """Return the user turns that a round shows; none if it is drawn."""
        return self._unless_drawn(round_name, files_of(self.cells, "user_turns.parquet"))

    def samples_to_draw(self, round_name: str) -> list[str]:
        """Return the human samples that a round is drawn from; none if it is drawn."""
        samples = files_of(self.cells, "human_sample.parquet")
        return self._unless_drawn(round_name, samples)

    def datasets_to_draw(self, round_name: str) -> list[str]:
        """Return the datasets whose conversations a round shows; none if it is drawn."""
        names = sorted({cell.dataset for cell in self.cells})
        return self._unless_drawn(round_name, [f"results/datasets/{n}.parquet" for n in names])

    def models_to_draw(self, round_name: str) -> list[str]:
        """Return the descriptions of the models of a round; none if it is drawn."""
        names = sorted({cell.model for cell in self.cells})
        return self._unless_drawn(round_name, [f"results/models/{n}.json" for n in names])

    def earlier_keys(self, round_name: str) -> list[str]:
        """Return the keys of the rounds before one; none if it is drawn."""
        earlier = self.rounds[: self.rounds.index(round_name)]
        return self._unless_drawn(round_name, self._of_rounds("key.parquet", earlier))

    def earlier_annotations(self, round_name: str) -> list[str]:
        """Return the labels of the rounds before one, if its turns are allocated by them."""
        earlier = self.rounds[: self.rounds.index(round_name)] if self.n_turns else []
        return self._unless_drawn(round_name, self._of_rounds("annotations.parquet", earlier))

    def _of_rounds(self, file: str, rounds: list[str] | None = None) -> list[str]:
        return [f"results/humans/{n}/{file}" for n in (self.rounds if rounds is None else rounds)]

    def annotation_files(self, round_name: str) -> list[str]:
        """Return the files with labels of a round."""
        return annotation_files(round_name)

    def annotations_identity(self, round_name: str) -> str:
        """Return the identity of a round's labels: of its files' content and the rubric's."""
        contents = self.grid.contents
        files = contents.annotations[round_name]
        skip = self.settings["skip_problems"]
        return fingerprint([HUMANS_VERSION, files, skip, contents.rubric])

    @property
    def pages(self) -> list[str]:
        """The annotation pages of all rounds."""
        return self._of_rounds("task.html")

    @property
    def annotations(self) -> list[str]:
        """The imported labels of all rounds."""
        return self._of_rounds("annotations.parquet")

    @property
    def keys(self) -> list[str]:
        """The keys of all rounds."""
        return self._of_rounds("key.parquet")

    @property
    def items(self) -> list[str]:
        """The items that annotators see, of all rounds."""
        return self._of_rounds("items.parquet")

    @property
    def identity(self) -> str:
        """The identity of the tables made from people's labels."""
        seed = self.grid.config["seed"]
        names = [self.rounds, self.families, self.private, seed, self.grid.contents.rubric]
        return fingerprint([TABLES_VERSION, self.grid.verdict_identities, names])
