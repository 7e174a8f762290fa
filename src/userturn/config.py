"""The configuration, checked when it is loaded: one sentence for the first thing that is wrong."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator

from userturn.errors import UserError
from userturn.fingerprints import check_sha256

Config = Mapping[str, Any]
SCHEMA = "config.schema.yaml"


class ConfigError(UserError):
    """A configuration that cannot be run as it stands."""


def near_miss(name: str, known: Iterable[str]) -> str:
    """Return ", did you mean 'x'?" for the known name most like `name`, else the known names."""
    known = sorted(known)
    match = get_close_matches(name, known, n=1, cutoff=0.6)
    if match:
        return f", did you mean '{match[0]}'?"
    return f"; expected one of: {', '.join(known)}" if known else ""


def _sentence(error: Any) -> str:
    """Return a schema error as one sentence: where, what was found, what was expected."""
    where = ".".join(str(part) for part in error.absolute_path) or "config"
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        name = min(str(key) for key in error.instance if key not in known)
        return f"{where}: unknown key '{name}'{near_miss(name, known)}"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f"{where}: the key '{missing}' is missing"
    if "propertyNames" in error.absolute_schema_path:
        return f"{where}: the name '{error.instance}' may only hold a-z, 0-9, '.', '_' and '-'"
    return f"{where}: found {error.instance!r}, expected {error.validator} {error.validator_value}"


def validate(config: Config, path_to_schema: str | Path = SCHEMA) -> None:
    """Check a configuration against the schema.

    Raises:
        ConfigError: the error nearest to the top, as one sentence.
    """
    check_values(config, yaml.safe_load(Path(path_to_schema).read_text()))


def check_values(values: Any, schema: Mapping[str, Any], where: Iterable[str] = ()) -> None:
    """Check values against a JSON Schema; `where` says where in the config they stand.

    Raises:
        ConfigError: the error nearest to the top, as one sentence.
    """
    for key in reversed(list(where)):
        values, schema = {key: values}, {"properties": {key: schema}}
    errors = sorted(Draft7Validator(schema).iter_errors(values), key=lambda e: len(e.path))
    if errors:
        raise ConfigError(_sentence(errors[0]))


def _check_selection(config: Config) -> None:
    for key, selected in config.get("run", {}).items():
        known = [str(name) for name in config[key]]
        for name in selected:
            if str(name) not in known and name not in config[key]:
                raise ConfigError(
                    f"run.{key}: '{name}' is not defined{near_miss(str(name), known)}"
                )


def _check_controls(config: Config) -> None:
    if "human" in config["models"]:
        raise ConfigError("models: 'human' is the name of a control; give the model another name")
    for name in config["controls"]["human"]:
        if name not in config["datasets"]:
            near = near_miss(name, config["datasets"])
            raise ConfigError(f"controls.human: '{name}' is not a dataset{near}")


def _check_files(config: Config) -> None:
    for name, dataset in (selected(config, "datasets") | human_datasets(config)).items():
        paths = [dataset.get("instruction"), None if "hub" in dataset else dataset["file"]]
        for path in filter(None, paths):
            if not Path(path).is_file():
                raise ConfigError(
                    f"datasets.{name}: the file '{path}' does not exist; mend the path or leave "
                    "the dataset out with run.datasets"
                )
        if "hub" not in dataset and "sha256" in dataset:
            check_sha256(dataset["file"], dataset["sha256"])
    templates = [
        (f"models.{name}.chat_template", line.get("chat_template"))
        for name, line in selected(config, "models").items()
        if isinstance(line, Mapping)
    ]
    for where, path in templates:
        if path is not None and not Path(path).is_file():
            raise ConfigError(f"{where}: the file '{path}' does not exist; mend the path")


def selected(config: Config, key: str) -> dict[str, Any]:
    """Return the definitions under `key` that this run makes, sorted by name."""
    names = config.get("run", {}).get(key, list(config[key]))
    return {name: config[key][name] for name in sorted(names)}


def human_datasets(config: Config) -> dict[str, Any]:
    """Return the datasets whose real user turns are judged as a control, sorted by name."""
    names = config["controls"]["human"]
    return {name: config["datasets"][name] for name in sorted(names)}


def check(config: Config, path_to_schema: str | Path = SCHEMA) -> None:
    """Refuse a configuration that cannot be run, in one sentence.

    Raises:
        ConfigError: an unknown key, a wrong value, a selection that is not defined, a missing file.
    """
    validate(config, path_to_schema)
    _check_selection(config)
    _check_controls(config)
    _check_files(config)


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
                "or mend the path"
            )
        config = _merged(config, yaml.safe_load(path.read_text()) or {})
    return config


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = [
        key for key in above if isinstance(above[key], dict) and isinstance(below.get(key), dict)
    ]
    return {**below, **above, **{key: _merged(below[key], above[key]) for key in both}}
