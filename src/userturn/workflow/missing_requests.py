"""Which requests have no reply: a forecast of what sweeps would ask, made in a process of its own.

Snakemake's process loads no tables. What it learns is kept beside Snakemake's own notes until a
journal, a dataset or the configuration changes; that file may be deleted at any time.
"""

import json
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from userturn.logs import say
from userturn.storage.hashing import fingerprint
from userturn.study.grid import Grid
from userturn.study.inputs import RecordedContents

KEPT = Path(".snakemake", "userturn", "forecast.json")
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
    made_of = fingerprint([begun, _state(grid, begun)])
    kept = _kept()
    if kept.get("made_of") == made_of:
        return dict(kept["forecasts"])
    found = _forecast(grid, begun)
    if KEPT.parent.parent.is_dir():
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps({"made_of": made_of, "forecasts": found}))
    return found


def _journals(grid: Grid, model: str) -> list[list[Any]]:
    """Return path, size and time of each file of a model's journals."""
    folder = grid.results / "journal" / grid.places.of_model(model)
    known = ((path, path.stat()) for path in sorted(folder.glob("*/[!.]*.jsonl")))
    return [[str(path), now.st_size, now.st_mtime_ns] for path, now in known]


def _state(grid: Grid, models: Collection[str]) -> list[Any]:
    """Return what a forecast depends on."""
    datasets = {name: grid.dataset_identity(name) for name in grid.prepared_datasets}
    prepared = [[path.name, path.stat().st_mtime_ns] for path in _tables(grid)]
    contents = [grid.contents.models[model] for model in models]
    journals = [_journals(grid, model) for model in models]
    return [grid.config, datasets, prepared, contents, journals, grid.contents.reactions]


def _tables(grid: Grid) -> list[Path]:
    return sorted((grid.results / "datasets").glob("[!.]*.parquet"))


def _kept() -> dict[str, Any]:
    try:
        kept = json.loads(KEPT.read_text())
        return kept if isinstance(kept, dict) else {}
    except (OSError, ValueError):
        return {}


def _forecast(grid: Grid, pending: Mapping[str, list[list[str]]]) -> Forecasts:
    contents = grid.contents
    given = {
        "config": grid.config,
        "results": str(grid.results),
        "contents": asdict(contents) if isinstance(contents, RecordedContents) else None,
        "pending": pending,
    }
    done = subprocess.run(
        [sys.executable, "-m", "userturn.generation.forecast"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        say(f"what sweeps would ask is not known ({last}); they look for themselves")
        return {}
    found: Forecasts = json.loads(done.stdout)
    return found
