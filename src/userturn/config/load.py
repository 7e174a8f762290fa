"""Read configuration files and merge them as Snakemake does."""

from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import yaml

from userturn.config.errors import ConfigError
from userturn.config.installation import config_files

MERGE = "tag:yaml.org,2002:merge"  # the key `<<`, whose mapping others may override
TEMPLATE = "__use_yte__"  # the key that makes Snakemake take a file for a template
MOST_VALUES = 1_000_000  # of one file, its anchors written out; Snakemake copies them all


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


def _refuse(loader: yaml.SafeLoader, node: yaml.Node) -> None:
    kind = node.tag.rpartition(":")[2]
    raise yaml.constructor.ConstructorError(
        problem=f"a {kind}, expected text, a number, a list or keys; quote the value",
        problem_mark=node.start_mark,
    )


def _finite(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    value = float(loader.construct_yaml_float(node))
    if not isfinite(value):
        raise yaml.constructor.ConstructorError(
            problem=f"the number {value} is not finite", problem_mark=node.start_mark
        )
    return value


_StrictLoader.add_constructor("tag:yaml.org,2002:float", _finite)
for _kind in ("timestamp", "binary", "set", "omap", "pairs"):  # not in JSON, as identities are
    _StrictLoader.add_constructor(f"tag:yaml.org,2002:{_kind}", _refuse)


def read_config_file(path: Path) -> dict[str, Any]:
    """Read one configuration file.

    Raises:
        ConfigError: it does not exist, or is not a mapping in YAML and UTF-8 with each key once.
    """
    if not path.is_file():
        raise ConfigError(
            f"configuration file '{path}' does not exist or is no file; run this in the project's "
            "folder, correct the path, or name targets before `--configfile`"
        )
    content = _parsed(path)
    if not isinstance(content, dict):
        found = "nothing" if content is None else f"a {type(content).__name__}"
        raise ConfigError(f"{path}: holds {found}, expected keys with values")
    if TEMPLATE in content:
        raise ConfigError(f"{path}: found '{TEMPLATE}', expected plain YAML; write its values out")
    if _n_values(content, (), {}, str(path)) > MOST_VALUES:
        raise ConfigError(
            f"{path}: its anchors stand for over {MOST_VALUES} values; write out what is meant"
        )
    return content


def _parsed(path: Path) -> Any:
    try:
        return yaml.load(path.read_text("utf-8-sig"), _StrictLoader)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}); change its owner or mode"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start} is not UTF-8; save the file in UTF-8"
        ) from error
    except RecursionError as error:
        raise ConfigError(f"{path}: its lists are nested too deeply; fix it") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise ConfigError(f"{path}{line}: not YAML ({problem}); fix it") from error
    except ValueError as error:  # a date or number that there is not
        said = str(error).partition(";")[0]
        raise ConfigError(f"{path}: not YAML ({said}); correct the value or quote it") from error


def _n_values(value: Any, above: tuple[int, ...], known: dict[int, int], file: str) -> int:
    """Return how many values a value holds, itself included, with its anchors written out.

    Args:
        value: what is counted.
        above: identities of the mappings and lists that it is in.
        known: the counts of mappings and lists seen before.
        file: the file's name, for the error.

    Raises:
        ConfigError: a mapping or list is a part of itself.
    """
    if not isinstance(value, dict | list):
        return 1
    if id(value) in above:
        raise ConfigError(f"{file}: an anchor contains itself; write its content out")
    if id(value) not in known:
        parts = value.values() if isinstance(value, dict) else value
        within = (*above, id(value))
        known[id(value)] = 1 + sum(_n_values(part, within, known, file) for part in parts)
    return known[id(value)]


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
