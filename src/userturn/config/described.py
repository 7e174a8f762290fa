"""JSON Schema of a description: of the types of keys, with what is said beside them."""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from userturn.config.keys import Key

Schema = dict[str, Any]
NAMES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}


def object_schema(described: type) -> Schema:
    """Return the schema of a closed object, whose keys a TypedDict describes.

    Keys without a description are left out: cluster resources, which have a table of their own.
    """
    hints = get_type_hints(described, include_extras=True)
    known = {name: schema for name in hints if "description" in (schema := _schema(hints[name]))}
    required: frozenset[str] = described.__required_keys__  # type: ignore[attr-defined]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in known if name in required],
        "properties": known,
    }


def properties_of(schema: Mapping[str, Any]) -> dict[str, Schema]:
    """Return the keys of an object, or of the form of a value that is one."""
    forms = [schema, *schema.get("oneOf", ())]
    return {name: below for form in forms for name, below in form.get("properties", {}).items()}


def _schema(hint: Any) -> Schema:
    origin, of = get_origin(hint), get_args(hint)
    if origin is NotRequired:
        return _schema(of[0])
    if origin is Annotated:
        return _narrowed(_schema(of[0]), of[1:])
    if origin is Literal:
        return {"enum": list(of)}
    if origin in (Union, UnionType):
        return _either(of)
    if origin is list:
        return {"type": "array", "items": _schema(of[0])}
    if hint is Any:
        return {}
    if origin is not None:
        return _mapping(*map(_schema, of))
    return object_schema(hint) if is_typeddict(hint) else {"type": NAMES[hint]}


def _narrowed(schema: Schema, keys: tuple[Key, ...]) -> Schema:
    for key in keys:
        said = {"description": key.meaning, "power": key.power}
        schema = schema | key.bounds | {word: value for word, value in said.items() if value}
    return schema


def _either(kinds: tuple[Any, ...]) -> Schema:
    """Return the schema of several types: one that lists them, if none is a certain value."""
    schemas = list(map(_schema, kinds))
    if any("enum" in schema for schema in schemas):
        return {"oneOf": schemas}
    merged: Schema = {}
    for schema in schemas:
        merged |= schema
    merged.pop("power", None)
    return merged | {"type": [schema["type"] for schema in schemas]}


def _mapping(names: Schema, values: Schema) -> Schema:
    named: Mapping[str, Any] = {"propertyNames": names} if len(names) > 1 else {}
    return {"type": "object", **named, **({"additionalProperties": values} if values else {})}
