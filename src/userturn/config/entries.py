"""The entries that a run selects: datasets, models and judges, complete with defaults."""

from collections.abc import Mapping
from typing import Any

Config = Mapping[str, Any]


def selected(config: Config, key: str) -> dict[str, Any]:
    """Return the definitions under `key` that this run makes, sorted by name."""
    names = config.get("run", {}).get(key, list(config[key]))
    return {name: config[key][name] for name in sorted(names)}


def grader(dataset: Mapping[str, Any]) -> str | None:
    """Return the judge that grades a dataset by its rubrics, or None for another verifier."""
    return str(dataset["judge"]) if dataset["verifier"] == "rubric" else None


def asked_judges(config: Config) -> list[str]:
    """Return the judges of user turns and those that grade answers, sorted."""
    graders = map(grader, selected(config, "datasets").values())
    return sorted({*selected(config, "judges"), *filter(None, graders)})


def human_datasets(config: Config) -> dict[str, Any]:
    """Return the datasets whose real user turns are judged as a control, sorted by name."""
    names = config["controls"]["human"]
    return {name: config["datasets"][name] for name in sorted(names)}
