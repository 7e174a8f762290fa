"""Datasets of data/catalogue.yaml, which a run selects by their names."""

from collections.abc import Mapping
from typing import Any

import yaml

from userturn.config.installation import installed

CATALOGUE = "data/catalogue.yaml"


def catalogue() -> dict[str, dict[str, Any]]:
    """Return the catalogue's entries by name."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(installed(CATALOGUE).read_text("utf-8"))
    return found


def add_catalogue(config: Mapping[str, Any]) -> None:
    """Add, in place, the catalogue's datasets to a configuration whose run selects some.

    An entry without `file` and `hub` changes single keys of the catalogue's. Without a selection
    all datasets are run, and none is added.

    Args:
        config: the configuration, which may still be wrong in any way.
    """
    run, own = config.get("run"), config.get("datasets")
    if isinstance(own, dict) and isinstance(run, Mapping) and "datasets" in run:
        for name, entry in catalogue().items():
            mine = own.get(name, {})
            if isinstance(mine, dict) and not {"file", "hub"} & mine.keys():
                own[name] = entry | mine
