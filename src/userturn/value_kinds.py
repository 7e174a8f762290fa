"""What a value from YAML, JSON or Parquet is, in words."""

from typing import Any

KINDS = {
    "NoneType": "nothing",
    "str": "a text",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "list": "a list",
    "dict": "keys with values",
}


def kind_of(value: Any) -> str:
    """Return what a value is: "a list", "nothing"; a kind that is not JSON's by Python's name."""
    name = type(value).__name__
    return KINDS.get(name, f"a {name}")
