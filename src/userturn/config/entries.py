"""The entries that a run selects: datasets, models and judges, complete with defaults."""

from collections.abc import Mapping
from typing import Any

from userturn.config.dataset_keys import DatasetEntry

Config = Mapping[str, Any]


def selected(config: Config, key: str) -> dict[str, Any]:
    """Return the definitions under `key` that this run makes, sorted by name."""
    names = config.get("run", {}).get(key, list(config[key]))
    return {name: config[key][name] for name in sorted(names)}


def private_mark(dataset: DatasetEntry) -> str | None:
    """Return the setting by which an entry's rows are never shown or exported, or None."""
    if dataset.get("private"):
        return "private: true"
    return None if dataset.get("export", True) else "export: false"


def grader(dataset: DatasetEntry) -> str | None:
    """Return the judge that grades a dataset by its rubrics, or None for another verifier."""
    return str(dataset["judge"]) if dataset["verifier"] == "rubric" else None


def asked_judges(config: Config) -> list[str]:
    """Return the judges of user turns and those that grade answers, sorted."""
    graders = map(grader, selected(config, "datasets").values())
    return sorted({*selected(config, "judges"), *filter(None, graders)})


def human_datasets(config: Config) -> dict[str, DatasetEntry]:
    """Return the datasets whose real user turns are judged as a control, sorted by name."""
    names = config["controls"]["human"]
    return {name: config["datasets"][name] for name in sorted(names)}


def likelihood_settings(config: Config) -> Mapping[str, Any] | None:
    """Return the settings of likelihood, or None if a study turns it off or is older."""
    settings: Mapping[str, Any] | None = config.get("likelihood") or None
    return settings


def pair_rounds(config: Config) -> list[str]:
    """Return the rounds of pairs; none if a study has none or is older."""
    return list(config["humans"].get("pairs", {"rounds": []})["rounds"])


def likelihood_datasets(config: Config) -> dict[str, DatasetEntry]:
    """Return the datasets whose reference follow-ups are scored, sorted by name."""
    settings = likelihood_settings(config)
    names = settings["datasets"] if settings else []
    return {name: config["datasets"][name] for name in sorted(names)}


def prepared_datasets(config: Config) -> dict[str, DatasetEntry]:
    """Return all datasets of a run: of the grid, of the controls, of the likelihood."""
    return selected(config, "datasets") | human_datasets(config) | likelihood_datasets(config)
