"""What a study was made of, as the report says it: models, datasets, judges and the seed."""

from collections.abc import Mapping
from typing import Any

from userturn.study.grid import Grid

SOURCES = ("hub", "file", "folder", "url")  # settings of a dataset that say where its rows are from


def how_made(grid: Grid, descriptions: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return rows of three texts: what it is, its name, and what it was made from.

    Args:
        grid: the study's grid.
        descriptions: of each model, its file in results/models.
    """
    models = [["model", name, _of_model(descriptions[name])] for name in grid.models]
    datasets = [["dataset", name, _of_dataset(grid.datasets[name])] for name in grid.datasets]
    judges = [["judge", name, _of_judge(entry)] for name, entry in grid.judges.items()]
    return [*models, *datasets, *judges, ["seed", str(grid.config["seed"]), "of every draw"]]


def _of_model(description: Mapping[str, Any]) -> str:
    weights = description.get("weights_sha256") or {}
    hashes = [f"{name} sha256 {digest[:12]}" for name, digest in sorted(weights.items())]
    revision = description.get("revision")
    parts = [description["source"], *([f"revision {revision}"] if revision else hashes[:1])]
    return ", ".join(parts)


def _of_dataset(entry: Mapping[str, Any]) -> str:
    places = [str(entry[name]) for name in SOURCES if name in entry]
    revision = entry.get("revision")
    return ", ".join([*places, *([f"revision {revision}"] if revision else [])])


def _of_judge(entry: Mapping[str, Any]) -> str:
    model = entry.get("model")
    return ", ".join([f"kind {entry['kind']}", *([f"model {model}"] if model else [])])
