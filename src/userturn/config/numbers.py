"""Numbers written as text, such as "1.0" or YAML's 1e0, taken as what they plainly are."""

import re
from collections.abc import Mapping
from typing import Any

PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def plain_number(value: Any, kind: str) -> int | float | None:
    """Return a value as a number of the kind `integer` or `number`; None if it is not plainly one.

    An integer is read from 12, "12", 12.0 and 12e0, never from 12.5.
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
    """Replace, in place, each value of a configuration that should be a number and plainly is."""
    for error in _strict_errors(config, schema):
        wanted = error.validator_value if error.validator == "type" else ()
        kind = next((kind for kind in ("integer", "number") if kind in wanted), None)
        number = plain_number(error.instance, kind) if kind and error.absolute_path else None
        if number is not None:
            _put(config, list(error.absolute_path), number)


def _strict_errors(config: Any, schema: Mapping[str, Any]) -> list[Any]:
    from jsonschema import Draft7Validator  # not in the processes that check no configuration
    from jsonschema.validators import extend

    whole = Draft7Validator.TYPE_CHECKER.redefine(  # 1.0 counts as an integer in JSON Schema
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    strict = extend(Draft7Validator, type_checker=whole)  # type: ignore[no-untyped-call]
    return list(strict(schema).iter_errors(config))


def _put(config: Any, path: list[Any], number: int | float) -> None:
    *above, last = path
    for key in above:
        config = config[key]
    config[last] = number
