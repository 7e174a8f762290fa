"""Values checked against a JSON Schema, with one sentence for the first fault."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import getitem
from typing import Any

from userturn.config.entries import Config
from userturn.config.schema import config_schema
from userturn.errors import ConfigError, near_miss

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
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def schema_sentence(error: Any) -> str:
    """Return a schema error as one sentence: the key, the value found, the value expected."""
    where = ".".join(str(part) for part in error.absolute_path) or "config"
    if error.validator == "additionalProperties":
        properties = error.schema["properties"]
        name = min(str(key) for key in error.instance if key not in properties)
        return f"{where}: unknown key '{name}'{near_miss(name, properties)}"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        meaning = error.schema.get("properties", {}).get(missing, {}).get("description")
        return f"{where}: the key '{missing}' is missing; add it{f': {meaning}' if meaning else ''}"
    if error.validator == "maxLength":
        n, most = len(error.instance), error.validator_value
        return f"{where}: '{error.instance[:20]}...' has {n} characters, expected at most {most}"
    if "propertyNames" in error.absolute_schema_path:
        return f"{where}: the name '{error.instance}' may only contain a-z, 0-9, '.', '_' and '-'"
    within = [inner for inner in error.context if len(inner.path)]
    if error.validator == "oneOf" and within:  # the fault within the form that was meant
        return schema_sentence(within[0])
    value = repr(error.instance)
    shown = value if len(value) <= MOST_SHOWN else f"{value[:MOST_SHOWN]}..."
    return f"{where}: found {shown}, expected {_expected(error)}"


def _expected(error: Any) -> str:
    expected = error.validator_value
    if error.validator in LIMITS:
        return LIMITS[error.validator].format(expected)
    if error.validator == "type":
        kinds = _types(expected)
        if expected == "array" and isinstance(error.instance, str | int | float):
            return f"a list such as [{error.instance}]"
        if expected == "object":
            keys = error.schema.get("required") or list(error.schema.get("properties", ()))
            return ", such as ".join([kinds, *(f"`{key}: ...`" for key in keys[:1])])
        is_scalar = isinstance(error.instance, bool | int | float)
        return f"{kinds}: put it in quotes" if expected == "string" and is_scalar else kinds
    if error.validator == "enum":
        near = near_miss(str(error.instance), map(str, expected))
        choices = f"one of: {', '.join(map(str, expected))}"
        return choices if near.startswith(";") else f"{choices}{near}"
    if error.validator == "pattern":
        return str(error.schema.get("form", f"text that matches {expected}"))
    if error.validator == "oneOf":
        return _one_of(expected)
    return f"{error.validator} {expected}"


def _types(types: str | list[str]) -> str:
    return " or ".join(TYPES[kind] for kind in ([types] if isinstance(types, str) else types))


def _one_of(variants: list[Mapping[str, Any]]) -> str:
    """Return the variants of `oneOf` in words; keys of one mapping exclude each other."""
    if all("required" in variant for variant in variants):
        return f"exactly one of: {', '.join(map(_variant_in_words, variants))}"
    return ", or ".join(map(_variant, variants))


def _variant(variant: Mapping[str, Any]) -> str:
    keys = variant.get("required", ())
    beginning = "the keys " if len(keys) > 1 else "the key " if keys else ""
    return f"{beginning}{_variant_in_words(variant)}"


def _variant_in_words(schema: Mapping[str, Any]) -> str:
    """Return a form of `oneOf` in a few words: its keys, its values, or its type."""
    if "required" in schema:
        *first, last = (f"`{key}`" for key in schema["required"])
        return f"{', '.join(first)} and {last}" if first else last
    if schema.get("enum") == [False]:
        return "`off` (without quotes)"
    return " or ".join(map(str, schema["enum"])) if "enum" in schema else _types(schema["type"])


def plain_number(value: Any, kind: str) -> int | float | None:
    """Return a text or float as a number of a kind (`integer` or `number`), or None if it is none.

    An integer is read from "12", "12e0" and 12.0, never from 12.5.
    """
    if isinstance(value, str):
        if not PLAIN.fullmatch(value):
            return None
        value = int(value) if value.lstrip("+-").isdigit() else float(value)
    elif not isinstance(value, float):
        return None
    if kind == "integer" and isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if abs(value) < float("inf") else None


def take_plain_numbers(config: Any, schema: Mapping[str, Any]) -> None:
    """Replace values such as "12" or 12.0 by numbers, in place, if the schema asks for numbers."""
    # 1.0 counts as an integer in JSON Schema
    for error in _errors(config, schema, "integer", lambda value: isinstance(value, int)):
        types = error.validator_value if error.validator == "type" else ()
        kind = next((kind for kind in ("integer", "number") if kind in types), None)
        number = plain_number(error.instance, kind) if kind and error.absolute_path else None
        if number is not None:
            *above, last = error.absolute_path
            reduce(getitem, above, config)[last] = number


def validate(config: Config) -> None:
    """Check a configuration against its schema, and turn numbers written as text into numbers.

    Raises:
        ConfigError: the error nearest to the top, as one sentence.
    """
    schema = config_schema()
    take_plain_numbers(config, schema)
    check_values(config, schema)


def check_values(values: Any, schema: Mapping[str, Any], where: Iterable[str] = ()) -> None:
    """Check values against a JSON Schema, with `where` as their place in the configuration.

    Raises:
        ConfigError: the error nearest to the top, as one sentence.
    """
    for error in _faults(values, schema, where):
        raise ConfigError(schema_sentence(error))


def allowed_fault(values: Any, schema: Mapping[str, Any], where: Iterable[str] = ()) -> str | None:
    """Return the first schema error other than a missing key as one sentence, or None."""
    errors = (e for e in _faults(values, schema, where) if e.validator != "required")
    return next(map(schema_sentence, errors), None)


def _faults(values: Any, schema: Mapping[str, Any], where: Iterable[str]) -> list[Any]:
    """Return the schema errors of values, the nearest to the top first."""
    for key in reversed(list(where)):
        values, schema = {key: values}, {"properties": {key: schema}}
    errors = _errors(values, schema, "number", _is_finite)
    return sorted(errors, key=lambda error: len(error.path))


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) < float("inf")  # YAML has .inf and .nan


def _errors(
    values: Any, schema: Mapping[str, Any], kind: str, is_kind: Callable[[Any], bool]
) -> list[Any]:
    """Return the schema errors of values, where `is_kind` decides what is a number of a kind."""
    from jsonschema import Draft7Validator  # not in the processes that check no configuration
    from jsonschema.validators import extend

    kinds = Draft7Validator.TYPE_CHECKER.redefine(
        kind, lambda _, value: is_kind(value) and not isinstance(value, bool)
    )
    validator = extend(Draft7Validator, type_checker=kinds)  # type: ignore[no-untyped-call]
    return list(validator(schema).iter_errors(values))
