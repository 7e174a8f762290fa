"""The entries that a run selects, complete with defaults, and the files of datasets."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.dataset_keys import DatasetEntry
from userturn.errors import ConfigError, near_path

Config = Mapping[str, Any]
EVERY_LANGUAGE = "all"  # as `language`: items of every language, told apart
STATE, SPLITS = "state.json", "dataset_dict.json"  # what `save_to_disk` writes beside Arrow files
Files = Mapping[str | None, Path]  # by the language of each, None for a single file


def currency(config: Config) -> str:
    """Return the currency of a study's prices and of its max_cost."""
    return str(config.get("currency", "USD"))


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


def is_streamed(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry is a split of a dataset on the hub, and no file of it."""
    return "hub" in entry and "file" not in entry


def by_language(entry: Mapping[str, Any]) -> dict[str | None, dict[str, Any]]:
    """Return a dataset's entry once for each of its files, by the language of the file.

    A single file is under None. A split of the hub has none.
    """
    if is_streamed(entry):
        return {}
    if isinstance(entry["file"], str | Path):
        return {None: dict(entry)}
    rest = {key: value for key, value in entry.items() if key != "sha256"}
    hashes = entry.get("sha256", {})
    return {
        language: {**rest, "file": file}
        | ({"sha256": hashes[language]} if language in hashes else {})
        for language, file in sorted(entry["file"].items())
    }


def paths_of(entry: Mapping[str, Any]) -> list[str]:
    """Return the names of a dataset's files, as its entry has them, or as a folder has them."""
    named = [one["file"] for one in by_language(entry).values()]
    return [path for name in named for path in _files_in(name)]


def _files_in(name: str) -> list[str]:
    if not Path(name).is_dir():
        return [name]
    return sorted([*map(str, saved_files(Path(name))), str(Path(name, STATE))])


def saved_files(folder: Path) -> list[Path]:
    """Return the Arrow files of a folder that `save_to_disk` of `datasets` wrote, in order.

    Raises:
        ConfigError: another folder, or one of several splits.
    """
    try:
        if (folder / SPLITS).is_file():
            splits = ", ".join(json.loads((folder / SPLITS).read_text("utf-8"))["splits"])
            raise ConfigError(
                f"'{folder}' holds the splits {splits}; give the folder of one of them as `file`"
            )
        state = json.loads((folder / STATE).read_text("utf-8"))
        return [folder / one["filename"] for one in state["_data_files"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ConfigError(
            f"'{folder}' does not exist or is no file, nor a folder that `save_to_disk` of "
            "`datasets` wrote; leave the dataset out with run.datasets, or correct the path"
            f"{near_path(folder)}"
        ) from error
