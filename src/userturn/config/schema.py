"""The JSON Schema of the configuration, made from its keys' types and descriptions."""

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from userturn.config.job_resources import SETTINGS, schemas_for
from userturn.config.judge_keys import EndpointEntry, JudgeDefaults, JudgeEntry
from userturn.config.keys import Key
from userturn.config.model_keys import ModelEntry
from userturn.config.study_keys import Study

Schema = dict[str, Any]
NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def object_schema(described: type) -> Schema:
    """Return the schema of an object that has only the keys of a TypedDict.

    Keys without a description are left out. They are cluster resources, with a table of their own.
    """
    hints = get_type_hints(described, include_extras=True)
    properties = {
        name: schema for name in hints if "description" in (schema := _schema(hints[name]))
    }
    required: frozenset[str] = described.__required_keys__  # type: ignore[attr-defined]
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in properties if name in required],
        "properties": properties,
    }


def properties_of(schema: Mapping[str, Any]) -> dict[str, Schema]:
    """Return the schema of each key of an object, including the keys in its `oneOf` forms."""
    variants = [schema, *schema.get("oneOf", ())]
    return {
        name: below for variant in variants for name, below in variant.get("properties", {}).items()
    }


def _schema(hint: Any) -> Schema:
    origin, of = get_origin(hint), get_args(hint)
    if origin in (NotRequired, Required):
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
        annotations = {"description": key.meaning, "power": key.power}
        schema = schema | key.bounds | {word: value for word, value in annotations.items() if value}
    return schema


def _either(kinds: tuple[Any, ...]) -> Schema:
    """Return the schema of several types, merged into one unless some type is a literal."""
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


NEEDS_COMMIT = {
    "if": {"required": ["hub"]},
    "then": {"required": ["revision"]},
    "else": {"required": ["file"]},
}
NEEDS_BASE = {
    "if": {"type": "object", "required": ["recipe"]},
    "then": {"required": ["base"]},
    "else": {"required": ["source"]},
}
OF_THE_HUB = {  # a model whose content is not here to identify it
    "if": {"properties": {"source": {"pattern": "^[./~]"}}},
    "else": {"required": ["revision"]},
}
ALWAYS = [name for name, setting in SETTINGS.items() if not setting.is_optional]


@cache
def config_schema() -> Mapping[str, Any]:
    """Return the schema of a whole configuration."""
    schema = object_schema(Study)
    keys = schema["properties"]
    model, endpoint = object_schema(ModelEntry), object_schema(EndpointEntry)
    model["properties"]["training"] = _closed(model["properties"]["training"], _resources("train"))
    models = _closed(model, _resources("sweep")) | NEEDS_BASE
    keys["models"]["additionalProperties"] = models | {"type": ["string", "object"], "minLength": 1}
    keys["model_defaults"] |= _defaults(model, ("source",), "sweep", ALWAYS)
    keys["datasets"]["additionalProperties"] |= NEEDS_COMMIT
    keys["embedder"] |= OF_THE_HUB
    keys["perturbations"]["additionalProperties"]["required"] = ["operator"]
    judges = _closed(object_schema(JudgeEntry), _resources("serve_judge"))
    keys["judges"]["additionalProperties"] = judges | {"required": ["kind"]}
    keys["judge_defaults"] |= _defaults(endpoint, ("kind", "model"), "serve_judge", ["gpus"])
    keys["judge_defaults"]["properties"] |= object_schema(JudgeDefaults)["properties"]
    return schema


def _resources(rule: str) -> Schema:
    return {name: one | {"power": "harmless"} for name, one in schemas_for(rule).items()}


def _closed(schema: Schema, more: Schema) -> Schema:
    """Return the schema of an entry with more keys, none of which is required."""
    properties = schema.get("properties", {}) | more
    return schema | {"additionalProperties": False, "required": [], "properties": properties}


def _defaults(entry: Schema, own: tuple[str, ...], rule: str, resources: list[str]) -> Schema:
    """Return the schema of defaults: an entry's required keys except its own, and resources."""
    always = [name for name in entry["required"] if name not in own]
    properties = {name: entry["properties"][name] for name in always}
    return {
        "additionalProperties": False,
        "required": [*always, *resources],
        "properties": properties | _resources(rule),
    }
