"""The files of a dataset's entry: one, or one for each language."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

EVERY_LANGUAGE = "all"  # as `language`: items of every language, told apart
Files = Mapping[str | None, Path]  # by the language of each, None for a single file


def by_language(entry: Mapping[str, Any]) -> dict[str | None, dict[str, Any]]:
    """Return a dataset's entry once for each of its files, by the language of the file.

    A single file is under None.
    """
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
    """Return the names of a dataset's files, as its entry has them."""
    return [one["file"] for one in by_language(entry).values()]
