"""The JSON Schema of the configuration: what `study_keys.py` describes, entries, and defaults."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from userturn.config.described import Schema, object_schema
from userturn.config.judge_keys import EndpointEntry, JudgeDefaults, JudgeEntry
from userturn.config.model_keys import ModelEntry
from userturn.config.slurm_resources import SETTINGS, schemas_for
from userturn.config.study_keys import Study

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
    keys["perturbations"]["additionalProperties"]["required"] = ["operator"]
    judges = _closed(object_schema(JudgeEntry), _resources("serve_judge"))
    keys["judges"]["additionalProperties"] = judges | {"required": ["kind"]}
    keys["judge_defaults"] |= _defaults(endpoint, ("kind", "model"), "serve_judge", ["gpus"])
    keys["judge_defaults"]["properties"] |= object_schema(JudgeDefaults)["properties"]
    return schema


def _resources(rule: str) -> Schema:
    return {name: one | {"power": "harmless"} for name, one in schemas_for(rule).items()}


def _closed(schema: Schema, more: Schema) -> Schema:
    """Return the schema of an entry, of whose keys none is required, with more keys."""
    properties = schema.get("properties", {}) | more
    return schema | {"additionalProperties": False, "required": [], "properties": properties}


def _defaults(entry: Schema, own: tuple[str, ...], rule: str, resources: list[str]) -> Schema:
    """Return the schema of defaults: of what a complete entry always has and need not say."""
    always = [name for name in entry["required"] if name not in own]
    properties = {name: entry["properties"][name] for name in always}
    return {
        "additionalProperties": False,
        "required": [*always, *resources],
        "properties": properties | _resources(rule),
    }
