"""An error of JSON Schema as one sentence: where, what was found, what was expected."""

from collections.abc import Mapping
from typing import Any

from userturn.config.errors import near_miss

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
