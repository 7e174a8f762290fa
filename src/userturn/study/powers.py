"""Powers: what the settings of a study could do to whoever runs it, listed before any is used.

Every key of the configuration is described with its power (`config/keys.py`). A stranger's study is
held to that description: a key, a type or a name beyond it is refused, and what is not harmless
is listed, to be confirmed as a whole by the hash of the list.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from userturn.config.entries import Config
from userturn.config.formats import NO_SYSTEM, TEMPLATES_OWN
from userturn.config.recipes import RECIPES, recipe_schema
from userturn.config.schema import config_schema, properties_of
from userturn.config.trust import fault_of_path, why_not_own
from userturn.config.validation import allowed_fault
from userturn.errors import UserError
from userturn.logs import say
from userturn.prompts.perturbations import perturbation_schema
from userturn.storage.files import read_text
from userturn.storage.hashing import fingerprint

OFF = (False, None, "none")  # values of keys that start nothing
NO_FILES = (NO_SYSTEM, TEMPLATES_OWN)


class Power(NamedTuple):
    """The power of one setting: its kind (`config/keys.py`), its dotted key, and its value."""

    kind: str
    key: str
    value: str

    def __str__(self) -> str:
        """Return a line without any character that a terminal would obey."""
        return f"{self.kind:<8} {self.key}: {json.dumps(self.value)}"


def check_may_run(
    named: Path,
    results: Path,
    recorded: Config,
    option: str,
    instead: str,
    configfiles: Sequence[str] = (),
    trusted: str | None = None,
) -> None:
    """Check that a study is the user's own, or that the user has confirmed a stranger's powers.

    Args:
        named: the study as the user names it: a folder or an archive.
        results: its results folder, where it is now.
        recorded: the configuration in its record.
        option: the option that the user gave, such as `--sweep`.
        instead: words for what is possible without that option.
        configfiles: the user's configuration files besides `config.yaml`.
        trusted: the hash of the list that the user has confirmed.

    Raises:
        UserError: it is a stranger's, and a setting is unknown or not confirmed.
    """
    if (why := why_not_own(results, recorded, configfiles)) is None:
        return
    refused = f"`{option}` was refused: '{named}' {why}, and "
    try:
        listed = [str(power) for power in powers(recorded, results.parent)]
    except UserError as error:
        raise UserError(
            f"{refused}has a setting whose effect is not known: {error}; {instead}"
        ) from error
    name = fingerprint(listed)
    if trusted == name:
        return
    say("\n".join([f"what '{named}' loads, starts, asks, sends or reads elsewhere:", *listed]))
    other = f" (`--trust {trusted}` is of another list)" if trusted else ""
    raise UserError(
        f"{refused}running it does what is listed above{other}; read that list and add `--trust "
        f"{name}`, or {instead}"
    )


def powers(config: Config, folder: Path) -> list[Power]:
    """Return the sorted powers of the configuration and recipes of a study in a folder.

    Raises:
        UserError: a key, a type or a name is not described.
    """
    _check(config, config_schema(), ())
    all_powers = [*_powers_below(config, config_schema(), "", {})]
    for name, entry in config.get("perturbations", {}).items():
        schema = perturbation_schema(f"perturbations.{name}", entry)
        _check(entry, schema, ("perturbations", name))
        all_powers += _powers_below(entry, schema, f"perturbations.{name}", {})
    for path, recipe in _recipes(config, folder):
        _check(recipe, recipe_schema(), (path,))
        all_powers += _powers_below(recipe, recipe_schema(), path, {})
    return sorted({power for power in all_powers if _is_used(power, folder)})


def _check(values: Any, schema: Mapping[str, Any], where: tuple[str, ...]) -> None:
    if (fault := allowed_fault(values, schema, where)) is not None:
        raise UserError(fault)


def _powers_below(
    value: Any, schema: Mapping[str, Any], key: str, entry: Mapping[str, Any]
) -> Iterator[Power]:
    """Yield the powers of a value and all values below it, where `entry` is its mapping."""
    kind, name = schema.get("power"), key.rpartition(".")[2]
    if isinstance(value, str) and "source" in properties_of(schema):  # a model's short form
        yield from _powers_below({"source": value}, schema, key, entry)
    elif kind is not None:
        is_name = (name == "file" and "hub" in entry) or (name == "system" and value in NO_FILES)
        is_harmless = kind == "harmless" or is_name or value in OFF
        yield from () if is_harmless else (Power(kind, key, str(v)) for v in _values(value))
    elif isinstance(value, Mapping):
        properties, others = properties_of(schema), schema.get("additionalProperties")
        for below, part in value.items():
            of = properties.get(below, others if isinstance(others, Mapping) else {})
            yield from _powers_below(part, of, f"{key}.{below}" if key else below, value)
    elif isinstance(value, list):
        for part in value:
            yield from _powers_below(part, schema["items"], key, {})


def _values(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else [value]


def _is_used(power: Power, folder: Path) -> bool:
    """Return whether a power counts, which the path of a file inside the study does not."""
    return power.kind != "path" or fault_of_path(power.value, folder) is not None


def _recipes(config: Config, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the recipes of a study's models, with their paths in its folder."""
    named = {
        e["recipe"] for e in config["models"].values() if isinstance(e, dict) and "recipe" in e
    }
    for path in sorted(str(RECIPES / f"{name}.yaml") for name in named):
        if (fault := fault_of_path(path, folder)) is not None:
            raise UserError(f"{path} is {fault}")
        if (folder / path).is_file():
            try:
                yield path, yaml.safe_load(read_text(folder / path))
            except (yaml.YAMLError, RecursionError) as error:
                raise UserError(f"{path} is not YAML ({type(error).__name__})") from error
