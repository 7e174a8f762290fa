"""The files of a dataset's entry: one, or one for each language."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.errors import ConfigError

EVERY_LANGUAGE = "all"  # as `language`: items of every language, told apart
STATE, SPLITS = "state.json", "dataset_dict.json"  # what `save_to_disk` writes beside Arrow files
Files = Mapping[str | None, Path]  # by the language of each, None for a single file


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
            "`datasets` wrote; correct the path or leave the dataset out with run.datasets"
        ) from error
