"""The configuration, checked when it is loaded: one sentence for the first thing that is wrong."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator

from userturn.errors import UserError
from userturn.storage.hashing import check_sha256

Config = Mapping[str, Any]
SCHEMA = "config.schema.yaml"
RESERVED = {"human", "judges", "costs"}  # beside models in results/controls and results/journal
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


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
    for name in RESERVED & set(config["models"]):
        raise ConfigError(f"models: '{name}' is a folder's name of ours; give the model another")
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


def _check_judges(config: Config) -> None:
    if config["primary_judge"] not in selected(config, "judges"):
        raise ConfigError(
            f"primary_judge: '{config['primary_judge']}' is not among the judges of this run; name "
            "one of run.judges"
        )
    for name, entry in complete_judges(config).items():
        if entry["kind"] == "endpoint":
            _check_endpoint(f"judges.{name}", entry, config["max_cost"])
    for name, dataset in config["datasets"].items():
        if dataset["verifier"] == "rubric":
            judge = config["judges"].get(dataset.get("judge"))
            if judge is None or judge["kind"] != "endpoint":
                raise ConfigError(
                    f"datasets.{name}: the verifier 'rubric' asks a judge; name one with an "
                    "endpoint as its `judge`"
                )


def _check_endpoint(where: str, entry: Mapping[str, Any], max_cost: float | None) -> None:
    """Refuse an endpoint that cannot be asked; what could be a key is never shown."""
    variable = entry.get("key_variable", "NAME")
    if not VARIABLE.fullmatch(variable):
        raise ConfigError(
            f"{where}.key_variable: expected the NAME of an environment variable, such as "
            "OPENAI_API_KEY; if a key stands there, take it out of the config and make it invalid"
        )
    if ("base_url" in entry) == entry["serve"]:
        raise ConfigError(f"{where}: expected either `base_url` or `serve: true`")
    if "@" in entry.get("base_url", ""):
        raise ConfigError(f"{where}.base_url: holds a user's name; expected https://host/v1")
    has_limit = {"max_tokens", "max_completion_tokens"} & set(entry["settings"])
    if "price" in entry and max_cost is not None and not has_limit:
        raise ConfigError(
            f"{where}.settings: max_cost needs a limit of the reply's tokens; set "
            "`max_completion_tokens`, or `max_tokens` where the endpoint wants that"
        )
    for path in (entry["rubric"], entry["prompt"]):
        if not Path(path).is_file():
            raise ConfigError(f"{where}: the file '{path}' does not exist; mend the path")


def _check_nodes(config: Config) -> None:
    """Refuse GPUs that do not spread evenly: each node holds the same part of every layer."""
    models = {
        f"models.{name}": config["model_defaults"] | line
        for name, line in selected(config, "models").items()
        if isinstance(line, Mapping)
    }
    judges = {
        f"judges.{name}": entry
        for name, entry in complete_judges(config).items()
        if entry.get("serve")
    }
    for where, entry in (models | judges).items():
        if entry["gpus"] % entry.get("nodes", 1):
            raise ConfigError(
                f"{where}.gpus: found {entry['gpus']} for {entry['nodes']} nodes; expected as many "
                "on each node: set `gpus` to a multiple of `nodes`"
            )


def selected(config: Config, key: str) -> dict[str, Any]:
    """Return the definitions under `key` that this run makes, sorted by name."""
    names = config.get("run", {}).get(key, list(config[key]))
    return {name: config[key][name] for name in sorted(names)}


def grader(dataset: Mapping[str, Any]) -> str | None:
    """Return the judge that grades a dataset by its rubrics, or None for another verifier."""
    return str(dataset["judge"]) if dataset["verifier"] == "rubric" else None


def asked_judges(config: Config) -> list[str]:
    """Return the judges of user turns and those that grade answers, sorted."""
    graders = map(grader, selected(config, "datasets").values())
    return sorted({*selected(config, "judges"), *filter(None, graders)})


def complete_judges(config: Config) -> dict[str, dict[str, Any]]:
    """Return the entries of all judges, those of endpoints with what `judge_defaults` adds."""
    defaults = config["judge_defaults"]
    return {
        name: defaults | entry if entry["kind"] == "endpoint" else dict(entry)
        for name, entry in config["judges"].items()
    }


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
    _check_judges(config)
    _check_nodes(config)


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
