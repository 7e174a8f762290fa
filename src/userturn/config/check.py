"""The configuration, checked when it is loaded: one sentence for the first thing that is wrong."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from userturn.config.chat_models import is_chat
from userturn.config.dataset_files import by_language, is_streamed, paths_of
from userturn.config.entries import Config, prepared_datasets, selected
from userturn.config.errors import ConfigError, near_miss
from userturn.config.formats import check_formats
from userturn.config.numbers import take_plain_numbers
from userturn.config.prediction_keys import check_predictions
from userturn.config.schema import config_schema
from userturn.storage.hashing import check_sha256

MOST_SHOWN = 200  # characters of a value
TYPES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list such as [a, b]",
    "object": "keys with values",
    "null": "nothing",
}
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "minItems": "a list of at least {}",
    "minLength": "a text of at least {} character",
    "uniqueItems": "each value once",
}


def schema_sentence(error: Any) -> str:
    """Return a schema error as one sentence: where, what was found, what was expected."""
    where = ".".join(str(part) for part in error.absolute_path) or "config"
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        name = min(str(key) for key in error.instance if key not in known)
        return f"{where}: unknown key '{name}'{near_miss(name, known)}"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f"{where}: the key '{missing}' is missing"
    if error.validator == "maxLength":
        n, most = len(error.instance), error.validator_value
        return f"{where}: '{error.instance[:20]}...' has {n} characters, expected at most {most}"
    if "propertyNames" in error.absolute_schema_path:
        return f"{where}: the name '{error.instance}' may only contain a-z, 0-9, '.', '_' and '-'"
    within = [inner for inner in error.context if len(inner.path)]
    if error.validator == "oneOf" and within:  # the fault within the form that was meant
        return schema_sentence(within[0])
    found = repr(error.instance)
    shown = found if len(found) <= MOST_SHOWN else f"{found[:MOST_SHOWN]}..."
    return f"{where}: found {shown}, expected {_expected(error)}"


def _expected(error: Any) -> str:
    """Return what a value should have been, in words."""
    wanted = error.validator_value
    if error.validator in LIMITS:
        return LIMITS[error.validator].format(wanted)
    if error.validator == "type":
        kinds = _types(wanted)
        is_scalar = isinstance(error.instance, bool | int | float)
        return f"{kinds}: put it in quotes" if wanted == "string" and is_scalar else kinds
    if error.validator == "enum":
        return f"one of: {', '.join(map(str, wanted))}"
    if error.validator == "pattern":
        return str(error.schema.get("form", f"text that matches {wanted}"))
    if error.validator == "oneOf":
        return f"exactly one of: {', '.join(map(_form, wanted))}"
    return f"{error.validator} {wanted}"


def _types(wanted: str | list[str]) -> str:
    return " or ".join(TYPES[kind] for kind in ([wanted] if isinstance(wanted, str) else wanted))


def _form(schema: Mapping[str, Any]) -> str:
    """Return one form of `oneOf` in a few words: its keys, its values, or its type."""
    if "required" in schema:
        return "+".join(schema["required"])
    if schema.get("enum") == [False]:
        return "off (without quotes)"
    return " or ".join(map(str, schema["enum"])) if "enum" in schema else _types(schema["type"])


RESERVED = {  # what is beside them in the results
    "models": {"human", "judges", "costs"},
    "datasets": {"labelled", "injected"},
}


def validate(config: Config) -> None:
    """Check a configuration by its description; numbers written as text become numbers in place.

    Raises:
        ConfigError: the error nearest to the top, as one sentence.
    """
    schema = config_schema()
    take_plain_numbers(config, schema)
    check_values(config, schema)


def check_values(values: Any, schema: Mapping[str, Any], where: Iterable[str] = ()) -> None:
    """Check values against a JSON Schema; `where` says where in the config they are.

    Raises:
        ConfigError: the error nearest to the top, as one sentence.
    """
    errors = _errors(values, schema, where)
    if errors:
        raise ConfigError(schema_sentence(errors[0]))


def allowed_fault(values: Any, schema: Mapping[str, Any], where: Iterable[str] = ()) -> str | None:
    """Return what a configuration says beyond a schema, as one sentence; what it lacks is none."""
    errors = [error for error in _errors(values, schema, where) if error.validator != "required"]
    return schema_sentence(errors[0]) if errors else None


def _errors(values: Any, schema: Mapping[str, Any], where: Iterable[str]) -> list[Any]:
    from jsonschema import Draft7Validator  # not in the processes that check no configuration
    from jsonschema.validators import extend

    def is_finite(_: Any, value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and abs(value) < float("inf")

    kinds = Draft7Validator.TYPE_CHECKER.redefine("number", is_finite)  # YAML has .inf and .nan
    validator = extend(Draft7Validator, type_checker=kinds)  # type: ignore[no-untyped-call]
    for key in reversed(list(where)):
        values, schema = {key: values}, {"properties": {key: schema}}
    return sorted(validator(schema).iter_errors(values), key=lambda e: len(e.path))


def _check_selection(config: Config) -> None:
    for key, names in config.get("run", {}).items():
        if key == "formats":  # `default` is there without a definition
            continue
        known = [str(name) for name in config[key]]
        for name in names:
            if str(name) not in known and name not in config[key]:
                raise ConfigError(
                    f"run.{key}: '{name}' is not defined{near_miss(str(name), known)}"
                )


def _check_controls(config: Config) -> None:
    for kind, reserved in RESERVED.items():
        for name in sorted(reserved & set(config[kind])):
            raise ConfigError(
                f"{kind}: '{name}' is the name of something else in the results; rename it"
            )
    for name in config["controls"]["human"]:
        if name not in config["datasets"]:
            near = near_miss(name, config["datasets"])
            raise ConfigError(f"controls.human: '{name}' is not a dataset{near}")


def _check_likelihood(config: Config) -> None:
    settings = config.get("likelihood") or {}
    for name in settings.get("datasets", []):
        if name not in config["datasets"]:
            near = near_miss(name, config["datasets"])
            raise ConfigError(f"likelihood.datasets: '{name}' is not a dataset{near}")
    entries = selected(config, "models").values()
    if settings and all(isinstance(entry, Mapping) and is_chat(entry) for entry in entries):
        raise ConfigError(
            "likelihood: found settings for models that are all behind a chat API, which tells no "
            "likelihood of a text; set `likelihood: off`"
        )


def _check_files(config: Config) -> None:
    for name, dataset in prepared_datasets(config).items():
        files = by_language(dataset)
        _check_split(name, dataset)
        if isinstance(dataset.get("sha256"), Mapping if None in files else str):
            raise ConfigError(
                f"datasets.{name}.sha256: expected one hash for each file; name the files and the "
                "hashes by the same languages"
            )
        try:
            own = [] if "hub" in dataset else paths_of(dataset)
        except ConfigError as error:
            raise ConfigError(f"datasets.{name}: {error}") from error
        paths = [dataset.get("instruction"), *own]
        for path in filter(None, paths):
            if not Path(path).is_file():
                raise ConfigError(
                    f"datasets.{name}: '{path}' does not exist or is no file; correct the path or "
                    "leave the dataset out with run.datasets"
                )
        for one in files.values():
            if "hub" not in one and "sha256" in one and Path(one["file"]).is_file():
                check_sha256(one["file"], one["sha256"])
    templates = [
        (f"models.{name}.chat_template", entry.get("chat_template"))
        for name, entry in selected(config, "models").items()
        if isinstance(entry, Mapping)
    ]
    for where, template in templates:
        if template is not None and not Path(template).is_file():
            raise ConfigError(
                f"{where}: '{template}' does not exist or is no file; correct the path"
            )


def _check_split(name: str, dataset: Mapping[str, Any]) -> None:
    """Check that an entry says one of two things: a file, or a split of a dataset on the hub."""
    of_file, of_split = ("sha256", "rows", "columns"), ("config", "split", "files")
    wrong = of_file if is_streamed(dataset) else of_split
    for key in wrong:
        if key in dataset:
            meant = "a `file`" if wrong == of_file else "a split of `hub`, without `file`"
            raise ConfigError(
                f"datasets.{name}.{key}: found {dataset[key]!r}, which belongs to {meant}; leave "
                "one of the two out"
            )
    if "hub" in dataset and "*" in str(dataset.get("file", "")):
        raise ConfigError(
            f"datasets.{name}.file: found the pattern {dataset['file']!r}, expected one file; give "
            "patterns and lists as `files`, without `file`"
        )


def _check_turns(config: Config) -> None:
    """Check that entries with `turns` ask for nothing that belongs to one of the turns alone."""
    for name, dataset in prepared_datasets(config).items():
        if "turns" not in dataset:
            continue
        fields = dataset["fields"]
        faults = {
            "needs `fields.messages` or `fields.tree`: a prompt has one turn": "prompt" in fields,
            "goes with `verifier: none` only: a reference grades one turn of a conversation": (
                dataset["verifier"] != "none"
            ),
            "takes the place of `condition`: leave that out": "condition" in dataset,
        }
        for fault, is_there in faults.items():
            if is_there:
                found = f"datasets.{name}.turns: found {dataset['turns']!r}"
                raise ConfigError(f"{found}, which {fault}")


def _check_nodes(config: Config) -> None:
    """Check that GPUs spread evenly: each node gets the same part of every layer."""
    models = {
        f"models.{name}": config["model_defaults"] | entry
        for name, entry in selected(config, "models").items()
        if isinstance(entry, Mapping)
    }
    for where, entry in models.items():
        if entry["gpus"] % entry.get("nodes", 1):
            raise ConfigError(
                f"{where}.gpus: found {entry['gpus']} for {entry['nodes']} nodes; expected as many "
                "on each node: set `gpus` to a multiple of `nodes`"
            )


def check(config: Config) -> None:
    """Check that a configuration can be run.

    Raises:
        ConfigError: an unknown key, a wrong value, a selection that is not defined, a missing file.
    """
    validate(config)
    _check_selection(config)
    check_formats(config)
    _check_controls(config)
    _check_likelihood(config)
    _check_files(config)
    _check_turns(config)
    _check_nodes(config)
    check_predictions(config)
