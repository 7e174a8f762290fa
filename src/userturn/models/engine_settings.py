"""Settings of a model's engine: tensor parallel size, context length, precision."""

from typing import Any

from userturn.config.entries import Config
from userturn.config.model_keys import ModelEntry


def engine_settings(config: Config, entry: ModelEntry) -> dict[str, Any]:
    """Return the engine's settings for a model, from the study's config and the model's entry."""
    settings: dict[str, Any] = {
        **config["vllm"],
        **entry.get("vllm", {}),
        "dtype": entry["dtype"],
        "max_model_len": entry["max_model_len"],
        "trust_remote_code": entry["trust_remote_code"],
        "tensor_parallel_size": max(1, entry["gpus"] // entry["nodes"]),
        "nnodes": entry["nodes"],
        "exact": config.get("determinism") == "exact",
    }
    return settings
