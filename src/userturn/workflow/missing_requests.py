"""Which requests have no reply: a forecast of what sweeps would ask."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from userturn.study.grid import Grid
from userturn.study.grid_elsewhere import asked_elsewhere, states

Forecasts = dict[str, dict[str, Any]]  # by model, a `generation.forecast.Forecast` as JSON


def missing_requests(
    grid: Grid, pending: Mapping[str, Collection[str]], every: Mapping[str, Collection[str]]
) -> Forecasts:
    """Return what a sweep of each model that has a journal would ask; nothing of the others.

    Args:
        grid: the study's grid.
        pending: by model, the identities of answers, cells and scores that are not there.
        every: by model, all identities, on which those may depend.
    """
    begun = {
        model: [sorted(pending[model]), sorted(every[model])]
        for model in pending
        if _journals(grid, model)
    }
    if not begun:
        return {}
    given = {"pending": begun}
    found = asked_elsewhere("userturn.generation.forecast", grid, given, _state(grid, begun))
    return found or {}


def _journals(grid: Grid, model: str) -> list[Path]:
    folder = grid.results / "journal" / grid.places.of_model(model)
    return sorted(folder.glob("*/[!.]*.jsonl"))


def _state(grid: Grid, models: Collection[str]) -> list[Any]:
    """Return what a forecast depends on, but for the configuration."""
    datasets = {name: grid.dataset_identity(name) for name in grid.prepared_datasets}
    prepared = states(sorted((grid.results / "datasets").glob("[!.]*.parquet")))
    contents = [grid.contents.models[model] for model in models]
    journals = [states(_journals(grid, model)) for model in models]
    return [datasets, prepared, contents, journals, grid.contents.reactions]
