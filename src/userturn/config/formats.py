"""Prompt formats: other ways of writing the same conversation for the same model.

`default` is the model's entry as it is. A model in another format is a line of the grid by the name
`model+format`, so that its cells, answers and journals have places of their own.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from userturn.config.chat_models import check_chat_probe, is_chat
from userturn.config.entries import Config, selected
from userturn.config.errors import ConfigError, near_miss
from userturn.config.model_keys import ModelEntry
from userturn.config.probes import OF_THE_PROBE, answers_alike, check_probe, of_the_probe

DEFAULT = "default"
BETWEEN = "+"
NO_SYSTEM = "none"  # instead of a file: no system prompt
TEMPLATES_OWN = "template"  # instead of a file: the system prompt that the chat template writes
HEADERS = ("user_header", "header")  # keys of an entry that cut the template's own header short
Entry = TypeVar("Entry")


def in_format(model: str, name: str) -> str:
    """Return the name of a model in a format; in `default` its own."""
    return model if name == DEFAULT else f"{model}{BETWEEN}{name}"


def model_of(name: str) -> str:
    """Return the model of a name such as `model+format`."""
    return name.partition(BETWEEN)[0]


def format_of(name: str) -> str:
    """Return the format of a name such as `model+format`; `default` if it names none."""
    return name.partition(BETWEEN)[2] or DEFAULT


def in_default(models: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the models in the default format: another format is not another model."""
    return {name: found for name, found in models.items() if format_of(name) == DEFAULT}


def beside_default(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return each model in another format with its name in the default format, sorted."""
    return sorted((name, model_of(name)) for name in names if format_of(name) != DEFAULT)


def formats(config: Config) -> dict[str, Mapping[str, Any]]:
    """Return the formats of a run besides `default`, sorted by name."""
    known = {DEFAULT: {}, **config.get("formats", {})}
    names = config.get("run", {}).get("formats", known)
    return {name: known[name] for name in sorted(names) if name != DEFAULT}


def models_in_formats(config: Config) -> list[str]:
    """Return the names of a run's models in each of its formats, sorted."""
    models = list(selected(config, "models"))
    others = [
        in_format(model, name)
        for name, entry in formats(config).items()
        for model in models
        if model in entry.get("models", models)
    ]
    return sorted([*models, *others])


def entry_in_format(entry: ModelEntry, name: str, choices: Mapping[str, Any]) -> ModelEntry:
    """Return a model's complete entry with the choices of a format.

    Args:
        entry: the model's entry.
        name: the format's name.
        choices: the format's entry.
    """
    changed: dict[str, Any] = {**entry}
    if "base" in entry:
        changed["base"] = in_format(entry["base"], name)
    if "header" in choices:
        changed = {key: value for key, value in changed.items() if key not in HEADERS}
        changed |= {"header": "bare"} if choices["header"] == "bare" else {}
    if "probe" in choices:
        changed = {key: value for key, value in changed.items() if key not in OF_THE_PROBE}
        changed |= of_the_probe(choices)
    if "system" in choices:
        changed["system"] = choices["system"]
    if "thinking" in choices:
        changed["enable_thinking"] = choices["thinking"]
    if "reasoning_effort" in choices:
        effort = {"reasoning_effort": choices["reasoning_effort"]}
        changed["template_options"] = {**entry.get("template_options", {}), **effort}
    if "answer" in choices:
        changed["answer"] = {**entry.get("answer", {}), **choices["answer"]}
    return cast(ModelEntry, changed)


def answers_as(models: Mapping[str, Mapping[str, Any]], name: str) -> str | None:
    """Return the model whose answers a model in another format has, since only its turns differ.

    Args:
        models: the complete entries.
        name: of the model, such as `model+format`.
    """
    model = model_of(name)
    shares = name != model and model in models and answers_alike(models[name], models[model])
    return model if shares else None


def system_file(entry: Mapping[str, Any]) -> str | None:
    """Return the file with the system prompt of a model or a format; None without."""
    system = entry.get("system", TEMPLATES_OWN)
    return None if system in (NO_SYSTEM, TEMPLATES_OWN) else str(system)


def check_formats(config: Config) -> None:
    """Check the formats of a configuration, and what models' entries say in their words.

    Raises:
        ConfigError: a format or model that is not defined, a missing file, a run without `default`.
    """
    entries = config.get("formats", {})
    _check_run(config, entries)
    models = {n: e for n, e in config["models"].items() if isinstance(e, Mapping)}
    for name, entry in models.items():
        if set(HEADERS) <= set(entry):
            raise ConfigError(
                f"models.{name}: found both `user_header` and `header`; remove one of the two"
            )
        _check_system_file(f"models.{name}", entry)
        check_probe(f"models.{name}", entry)
    for name, entry in entries.items():
        for model in entry.get("models", ()):
            if model not in config["models"]:
                near = near_miss(model, config["models"])
                raise ConfigError(f"formats.{name}.models: '{model}' is not a model{near}")
        for model in entry.get("models", models):
            if is_chat(models.get(model, {})):
                check_chat_probe(f"formats.{name}", entry)
        _check_system_file(f"formats.{name}", entry)
        check_probe(f"formats.{name}", entry)


def _check_system_file(where: str, entry: Mapping[str, Any]) -> None:
    path = system_file(entry)
    if path is not None and not Path(path).is_file():
        raise ConfigError(
            f"{where}.system: the file '{path}' does not exist; expected a file with a system "
            f"prompt, `{NO_SYSTEM}` or `{TEMPLATES_OWN}`"
        )


def _check_run(config: Config, entries: Mapping[str, Any]) -> None:
    if entries.get(DEFAULT):
        raise ConfigError(
            f"formats.{DEFAULT}: found {entries[DEFAULT]}, expected {{}}, since it is each model's "
            "entry as it is; write the choices into the model's entry, or give the format a name"
        )
    chosen = config.get("run", {}).get("formats", [DEFAULT])
    for name in chosen:
        if name not in {DEFAULT, *entries}:
            near = near_miss(name, entries)
            raise ConfigError(f"run.formats: '{name}' is not defined{near}")
    if DEFAULT not in chosen:
        raise ConfigError(
            f"run.formats: found {chosen} without '{DEFAULT}', with which the others are compared; "
            "add it: what it has finished is not run again"
        )
