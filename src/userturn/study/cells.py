"""Cells: the unit that is finished once and for all, and where its files are."""

from collections.abc import Iterable
from typing import NamedTuple

ALL = "all"  # in a row of a table over every dataset, model or family
PLAIN = "none"  # the perturbation that changes nothing


class Cell(NamedTuple):
    """One part of a grid, with the temperature as in paths: 0, 0.7, 1."""

    model: str
    dataset: str
    temperature: str
    perturbation: str

    @property
    def folder(self) -> str:
        """The folder of the cell's files, below results/cells."""
        return f"{self.model}/{self.dataset}/t{self.temperature}/{self.perturbation}"


def temperature_name(value: float) -> str:
    """Return a temperature in the form of paths: 0, 0.7, 1 (also for 1.0)."""
    return f"{value:g}"


def files_of(cells: Iterable[Cell], *names: str) -> list[str]:
    """Return the paths of files of some cells as rules name them, grouped by cell."""
    return [f"results/cells/{cell.folder}/{name}" for cell in cells for name in names]


def verdicts_of(cells: Iterable[Cell], judges: Iterable[str]) -> list[str]:
    """Return the paths of judges' verdicts on some cells as rules name them, grouped by cell."""
    return files_of(cells, *(f"verdicts/{judge}.parquet" for judge in judges))


def dataset_files(names: Iterable[str]) -> list[str]:
    """Return the paths of the prepared tables of some datasets as rules name them."""
    return [f"results/datasets/{name}.parquet" for name in names]


def description_files(names: Iterable[str]) -> list[str]:
    """Return the paths of the descriptions of some models as rules name them."""
    return [f"results/models/{name}.json" for name in names]


def group_by_source(cells: Iterable[Cell]) -> dict[tuple[str, str], list[Cell]]:
    """Group cells by model and dataset, in their order."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.model, cell.dataset), []).append(cell)
    return groups
