"""Read configuration files and merge them as Snakemake does."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from userturn.config.errors import ConfigError
from userturn.config.installation import config_files

MERGE = "tag:yaml.org,2002:merge"  # the key `<<`, whose mapping others may override


class _StrictLoader(yaml.SafeLoader):
    """YAML in which a key that is given twice is an error; PyYAML takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = None if key_node.tag == MERGE else self.construct_object(key_node, deep=True)
            if isinstance(key, list | dict):
                raise yaml.constructor.ConstructorError(
                    problem="a key is a list or mapping", problem_mark=key_node.start_mark
                )
            if key is not None and key in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key '{key}' is given twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_config_file(path: Path) -> dict[str, Any]:
    """Read one configuration file.

    Raises:
        ConfigError: it does not exist, or is not a mapping in YAML and UTF-8 with each key once.
    """
    if not path.is_file():
        raise ConfigError(
            f"configuration file '{path}' does not exist or is a folder; run this in the "
            "project's folder, or correct the path"
        )
    try:
        content = yaml.load(path.read_text("utf-8-sig"), _StrictLoader) or {}
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start} is not UTF-8; save the file in UTF-8"
        ) from error
    except RecursionError as error:
        raise ConfigError(f"{path}: its lists are nested too deeply; fix it") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", error)
        raise ConfigError(f"{path}{line}: not YAML ({problem}); fix it") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: holds a {type(content).__name__}, expected keys with values")
    if _contains_itself(content, (), set()):
        raise ConfigError(f"{path}: an anchor contains itself; write its content out")
    return content


def _contains_itself(value: Any, above: tuple[int, ...], known: set[int]) -> bool:
    """Return whether a mapping or list is a part of itself; `known` are those that are not."""
    if not isinstance(value, dict | list) or id(value) in known:
        return False
    if id(value) in above:
        return True
    parts = value.values() if isinstance(value, dict) else value
    found = any(_contains_itself(part, (*above, id(value)), known) for part in parts)
    known.add(id(value))
    return found


def load_config(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Read configuration files as Snakemake does: mappings are merged, lists replaced.

    Raises:
        ConfigError: a file that cannot be read.
    """
    config: dict[str, Any] = {}
    for path in map(Path, paths):
        config = _merged(config, read_config_file(path))
    return config


def load_study(configfiles: Iterable[str | Path] = ()) -> dict[str, Any]:
    """Read the configuration of the study in the present folder, and merge more files over it.

    Raises:
        ConfigError: a file that cannot be read.
    """
    return load_config([*config_files(), *configfiles])


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = [
        key for key in above if isinstance(above[key], dict) and isinstance(below.get(key), dict)
    ]
    return {**below, **above, **{key: _merged(below[key], above[key]) for key in both}}
