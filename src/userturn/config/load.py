"""Read configuration files and merge them as Snakemake does."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from userturn.config.errors import ConfigError


def load_config(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Read configuration files as Snakemake does: mappings are merged, lists replaced.

    Raises:
        ConfigError: a file that does not exist.
    """
    config: dict[str, Any] = {}
    for path in map(Path, paths):
        if not path.is_file():
            raise ConfigError(
                f"configuration file '{path}' does not exist; run this in the project's folder, "
                "or correct the path"
            )
        config = _merged(config, yaml.safe_load(path.read_text()) or {})
    return config


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = [
        key for key in above if isinstance(above[key], dict) and isinstance(below.get(key), dict)
    ]
    return {**below, **above, **{key: _merged(below[key], above[key]) for key in both}}
