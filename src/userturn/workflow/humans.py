"""Rounds of annotation, of turns and of pairs, and the cells they draw from."""

from collections.abc import Sequence
from pathlib import Path

from userturn.config.entries import pair_rounds
from userturn.config.families import families
from userturn.config.formats import DEFAULT, format_of, model_of
from userturn.errors import ConfigError, near_miss
from userturn.prompts.perturbations import needs_reference
from userturn.storage.hashing import fingerprint
from userturn.study.annotation_files import annotation_files
from userturn.study.cells import Cell, dataset_files, description_files, files_of, temperature_name
from userturn.study.grid import Grid

HUMANS_VERSION = 1
PAIRS_VERSION = 1


class RoundGrid:
    """Rounds whose files are in one folder of the results, each of which is drawn once."""

    def __init__(self, grid: Grid, folder: str, rounds: Sequence[str]) -> None:
        """Take a grid, the folder's name, and the names of the rounds, the newest last."""
        self.grid = grid
        self.folder = folder
        self.rounds = list(rounds)
        self.cells: list[Cell] = []  # cells from which the rounds draw

    def round_folder(self, round_name: str) -> Path:
        """Return the folder of a drawn round, which is no rule's output and so survives reruns."""
        return self.grid.results / "drawn" / round_name

    def is_drawn(self, round_name: str) -> bool:
        """Return whether a round was drawn, and so is never drawn again if the grid changes."""
        folder = self.round_folder(round_name)
        return all((folder / name).is_file() for name in ("key.parquet", "items.parquet"))

    def paths_to_draw_from(self, round_name: str, paths: list[str]) -> list[str]:
        """Return the paths from which a round is drawn, or none if it is drawn already."""
        return [] if self.is_drawn(round_name) else paths

    def user_turns_to_draw(self, round_name: str) -> list[str]:
        """Return the paths of the user turns that a round shows, or none if it is drawn."""
        return self.paths_to_draw_from(round_name, files_of(self.cells, "user_turns.parquet"))

    def datasets_to_draw(self, round_name: str) -> list[str]:
        """Return the paths of the datasets that a round shows, or none if it is drawn."""
        return self.paths_to_draw_from(round_name, self.datasets)

    def models_to_draw(self, round_name: str) -> list[str]:
        """Return the paths of the descriptions of a round's models, or none if it is drawn."""
        return self.paths_to_draw_from(round_name, self.descriptions)

    @property
    def datasets(self) -> list[str]:
        """The paths of the cells' datasets."""
        return dataset_files(sorted({cell.dataset for cell in self.cells}))

    @property
    def descriptions(self) -> list[str]:
        """The paths of the descriptions of the cells' models."""
        return description_files(sorted({cell.model for cell in self.cells}))

    def earlier_rounds(self, round_name: str) -> list[str]:
        """Return the names of the rounds before a round.

        Raises:
            KeyError: there is no such round.
        """
        if round_name not in self.rounds:
            raise KeyError(round_name)
        return self.rounds[: self.rounds.index(round_name)]

    def earlier_keys(self, round_name: str) -> list[str]:
        """Return the paths of the keys of the rounds before a round, or none if it is drawn."""
        return self.paths_to_draw_from(
            round_name, self.round_files("key.parquet", self.earlier_rounds(round_name))
        )

    def round_files(self, file: str, rounds: list[str] | None = None) -> list[str]:
        """Return the paths of a file of some rounds, by default of all."""
        names = self.rounds if rounds is None else rounds
        return [f"results/{self.folder}/{name}/{file}" for name in names]

    def annotation_files(self, round_name: str) -> list[str]:
        """Return the paths of all files with labels below a round's folder."""
        return annotation_files(round_name)

    @property
    def annotations(self) -> list[str]:
        """The paths of the imported labels of all rounds."""
        return self.round_files("annotations.parquet")

    @property
    def keys(self) -> list[str]:
        """The paths of the keys of all rounds."""
        return self.round_files("key.parquet")


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
            ConfigError: the judge whose labels make the strata is not in this run, or a name in
                `humans.from` or `humans.include_private` is not defined.
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
        """Return the private datasets that annotators may not see, and check `include_private`."""
        shown: bool | list[str] = self.settings["include_private"]
        if isinstance(shown, bool):
            return [] if shown else self.private
        for name in shown:
            if name not in self.grid.config["datasets"]:
                near = near_miss(name, list(self.grid.config["datasets"]))
                raise ConfigError(f"humans.include_private: '{name}' is not defined{near}")
        return [name for name in self.private if name not in shown]

    def _is_chosen(self, cell: Cell) -> bool:
        """Return whether `humans.from` selects a cell, and check that its names are defined."""
        for key, names in self.settings.get("from", {}).items():
            defined = self.grid.config.get(key, [])
            choices = [DEFAULT, *defined] if key == "formats" else [str(name) for name in defined]
            named = [temperature_name(n) if key == "temperatures" else str(n) for n in names]
            for name in named:
                if key != "temperatures" and name not in choices:
                    near = near_miss(name, choices)
                    raise ConfigError(f"humans.from.{key}: '{name}' is not defined{near}")
            if _coordinate(cell, key.removesuffix("s")) not in named:
                return False
        return True

    def sample_identity(self, cell: Cell) -> str:
        """Return the identity of one cell's human sample."""
        sampling = [
            self.settings["per_stratum"],
            self.settings["genuine"],
            self.grid.config["seed"],
        ]
        verdicts = self.grid.verdicts_identity(cell, self.judge)
        return fingerprint([HUMANS_VERSION, verdicts, sampling])

    def sampling_verdicts(self, cell: Cell) -> str:
        """Return the path of the verdicts that make the strata of a cell."""
        return files_of([cell], f"verdicts/{self.judge}.parquet")[0]

    def samples_to_draw(self, round_name: str) -> list[str]:
        """Return the paths of the samples from which a round is drawn, or none if it is drawn."""
        return self.paths_to_draw_from(round_name, files_of(self.cells, "human_sample.parquet"))

    def earlier_annotations(self, round_name: str) -> list[str]:
        """Return the paths of earlier rounds' labels if they decide how turns are allocated."""
        earlier = self.earlier_rounds(round_name) if self.n_turns else []
        return self.paths_to_draw_from(round_name, self.round_files("annotations.parquet", earlier))

    def annotations_identity(self, round_name: str) -> str:
        """Return the identity of a round's labels, from the content of its files and the rubric."""
        contents = self.grid.contents
        files = contents.annotations[round_name]
        return fingerprint([HUMANS_VERSION, files, self.skip_problems, contents.rubric])


class PairGrid(RoundGrid):
    """The rounds of pairs of a grid and the cells they draw from, both empty if pairs are off."""

    def __init__(self, humans: HumanGrid) -> None:
        """Take the rounds of labels of a grid.

        Raises:
            ConfigError: a round has the name of a round of labels, or no cell has pairs.
        """
        super().__init__(humans.grid, "pairs", pair_rounds(humans.grid.config))
        self.per_cell: int = humans.settings["pairs"]["per_cell"] if self.rounds else 0
        self.skip_problems: bool = humans.settings["skip_problems"]
        for name in self.rounds:
            if name in humans.rounds:
                raise ConfigError(
                    f"humans.pairs.rounds: '{name}' is also in humans.rounds, and would take its "
                    "files; choose another name"
                )
        operators = humans.grid.perturbations
        compared = [c for c in self.grid.cells if needs_reference(operators[c.perturbation])]
        if self.rounds and not compared:
            raise ConfigError(
                "humans.pairs: no perturbation of this run shows a dataset's own answer, to which "
                "a person replied; add 'reference_answer' to run.perturbations, or remove "
                "humans.pairs"
            )
        self.cells = [c for c in compared if self.rounds and c.dataset not in humans.hidden]

    def annotations_identity(self, round_name: str) -> str:
        """Return the identity of a round's labels, from the content of its files."""
        files = self.grid.contents.annotations[round_name]
        return fingerprint([PAIRS_VERSION, files, self.skip_problems])
