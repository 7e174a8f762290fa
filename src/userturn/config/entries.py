"""The entries that a run selects, and the files of datasets."""

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
    """Return the entries under `key` that this run selects, sorted by name."""
    names = config.get("run", {}).get(key, list(config[key]))
    return {name: config[key][name] for name in sorted(names)}


def private_mark(dataset: DatasetEntry) -> str | None:
    """Return the setting in an entry that forbids to export its rows, or None."""
    if dataset.get("private"):
        return "private: true"
    return None if dataset.get("export", True) else "export: false"


def grader(dataset: DatasetEntry) -> str | None:
    """Return the judge that grades a dataset by its rubrics, or None for another verifier."""
    return str(dataset["judge"]) if dataset["verifier"] == "rubric" else None


def asked_judges(config: Config) -> list[str]:
    """Return the sorted names of the judges of user turns and of those that grade answers."""
    graders = map(grader, selected(config, "datasets").values())
    return sorted({*selected(config, "judges"), *filter(None, graders)})


def human_datasets(config: Config) -> dict[str, DatasetEntry]:
    """Return the datasets whose real user turns are judged as a control, sorted by name."""
    names = config["controls"]["human"]
    return {name: config["datasets"][name] for name in sorted(names)}


def likelihood_settings(config: Config) -> Mapping[str, Any] | None:
    """Return the settings of likelihood, or None if it is off, or newer than the study."""
    settings: Mapping[str, Any] | None = config.get("likelihood") or None
    return settings


def pair_rounds(config: Config) -> list[str]:
    """Return the names of the rounds of pairs, or none if an older study does not know them."""
    return list(config["humans"].get("pairs", {"rounds": []})["rounds"])


def likelihood_datasets(config: Config) -> dict[str, DatasetEntry]:
    """Return the datasets whose reference follow-ups are scored, sorted by name."""
    settings = likelihood_settings(config)
    names = settings["datasets"] if settings else []
    return {name: config["datasets"][name] for name in sorted(names)}


def prepared_datasets(config: Config) -> dict[str, DatasetEntry]:
    """Return all datasets of a run: those of the grid, the controls and the likelihood."""
    return selected(config, "datasets") | human_datasets(config) | likelihood_datasets(config)


def is_streamed(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry names a split of a dataset on the hub, not a file."""
    return "hub" in entry and "file" not in entry


def entries_by_language(entry: Mapping[str, Any]) -> dict[str | None, dict[str, Any]]:
    """Return a dataset's entry once per file, by the language of the file.

    A single file has the language None. A split of the hub gives no entry.
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
    """Return the paths of a dataset's files, those in a folder instead of the folder itself."""
    named = [one["file"] for one in entries_by_language(entry).values()]
    return [path for name in named for path in _files_in(name)]


def _files_in(name: str) -> list[str]:
    if not Path(name).is_dir():
        return [name]
    return sorted([*map(str, saved_files(Path(name))), str(Path(name, STATE))])


def saved_files(folder: Path) -> list[Path]:
    """Return the paths of the Arrow files that `save_to_disk` of `datasets` wrote, in order.

    Raises:
        ConfigError: `save_to_disk` did not write the folder, or it has several splits.
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
            f"'{folder}' is neither a file nor a folder that `save_to_disk` of `datasets` wrote; "
            "leave the dataset out with run.datasets, or correct the path"
            f"{near_path(folder)}"
        ) from error
