"""A model with one more group of attention heads, all zeros: it writes the same.

Tensor parallelism splits heads evenly, and the small model of the GPU check has nine.
"""

import json
from pathlib import Path
from typing import Any

from userturn.storage.copied_folder import copy_folder

GROWN = {"q_proj": 0, "k_proj": 0, "v_proj": 0, "o_proj": 1}  # the dimension that has the heads


def write_with_even_heads(folder: Path, to: Path) -> Path:
    """Write a copy of a model of Llama's kind with one more group of heads, and return its folder.

    Args:
        folder: files with one `model.safetensors`; its attention has no biases.
        to: the folder to write, which does not exist.
    """
    from safetensors.torch import load_file, save_file

    copy_folder(folder, to, "*.safetensors")
    config = json.loads((folder / "config.json").read_text())
    n_heads, n_groups = config["num_attention_heads"], config["num_key_value_heads"]
    width = config.get("head_dim") or config["hidden_size"] // n_heads
    sizes = {"k_proj": width, "v_proj": width}
    weights = {
        name: _grown(name, weight, sizes, width * n_heads // n_groups)
        for name, weight in load_file(folder / "model.safetensors").items()
    }
    save_file(weights, to / "model.safetensors", metadata={"format": "pt"})
    config |= {"num_attention_heads": n_heads + n_heads // n_groups}
    config |= {"num_key_value_heads": n_groups + 1, "head_dim": width}
    (to / "config.json").write_text(json.dumps(config))
    return to


def _grown(name: str, weight: Any, sizes: dict[str, int], usual: int) -> Any:
    """Return a tensor with zeros for the new heads, if it has heads."""
    import torch

    part = name.removesuffix(".weight").rpartition(".")[2]
    if part not in GROWN:
        return weight
    shape = list(weight.shape)
    shape[GROWN[part]] = sizes.get(part, usual)
    return torch.cat([weight, weight.new_zeros(shape)], dim=GROWN[part])
