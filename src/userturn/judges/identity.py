"""What identifies a judge: all that can change a verdict."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from userturn.judges.verdict import verdict_schema
from userturn.models.fetch import source_identity
from userturn.storage.hashing import file_sha256, fingerprint

REQUEST_VERSION = 1

# What of an entry shapes a verdict; the rest says where, how fast and at what price it is had.
SHAPING = ("model", "settings", "reply", "rationale_characters")


def judge_identity(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a judge's entry shapes its verdicts, files by their content.

    Of an endpoint these are model, settings and form of the reply, the hashes of rubric, prompt
    and schema, and of a judge that is served here the files of its model and vLLM's settings.
    Address, key, price and speed are no part of it.
    """
    if settings["kind"] != "endpoint":
        return dict(settings)
    labels = yaml.safe_load(Path(settings["rubric"]).read_text())["labels"]
    schema = verdict_schema(list(labels), settings.get("rationale_characters"))
    served = {}
    if settings["serve"]:
        source = source_identity(settings["model"], settings.get("revision"))
        served = {"source": source, "vllm": settings["vllm"]}
    return {
        "version": REQUEST_VERSION,
        **{key: settings[key] for key in SHAPING if key in settings},
        "rubric": file_sha256(settings["rubric"]),
        "prompt": file_sha256(settings["prompt"]),
        "schema": fingerprint(schema),
        **served,
    }
