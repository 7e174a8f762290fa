"""The schema of the configuration: `config.schema.yaml`, and the keys that code adds."""

from pathlib import Path
from typing import Any

from userturn.config.installation import SCHEMA, here_or_installed
from userturn.config.load import read_config_file
from userturn.config.verifiers import verifiers
from userturn.slurm.resources import SETTINGS, schemas_for


def config_schema(path: str | Path = SCHEMA) -> dict[str, Any]:
    """Return the JSON Schema of the configuration, with cluster resources and verifiers added."""
    schema = read_config_file(here_or_installed(path))
    keys = schema["properties"]
    models, judges = (
        keys[key]["additionalProperties"]["properties"] for key in ("models", "judges")
    )
    for properties, rule in (
        (models, "sweep"),
        (models["training"]["properties"], "train"),
        (judges, "serve_judge"),
        (keys["model_defaults"]["properties"], "sweep"),
        (keys["judge_defaults"]["properties"], "serve_judge"),
    ):
        properties |= schemas_for(rule)
    keys["model_defaults"]["required"] += [k for k, s in SETTINGS.items() if not s.is_optional]
    dataset = keys["datasets"]["additionalProperties"]["properties"]
    dataset["verifier"] = dataset["verifier"] | {"enum": ["none", *verifiers()]}
    return schema
