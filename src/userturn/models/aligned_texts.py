"""Several texts as one input of a model, aligned at their ends."""

from collections.abc import Sequence
from typing import Any

import torch


def aligned(texts: Sequence[Sequence[int]], device: Any) -> dict[str, Any]:
    """Return token ids, attention mask and positions of texts, padded on the left.

    Texts of equal length need no mask: attention then takes its faster path.
    """
    width = max(map(len, texts))
    n_padded = torch.tensor([[width - len(text)] for text in texts])
    columns = torch.arange(width)
    inputs = {
        "input_ids": torch.tensor([[0] * (width - len(text)) + list(text) for text in texts]),
        "position_ids": (columns - n_padded).clamp(min=0),
    }
    if n_padded.any():
        inputs["attention_mask"] = (columns >= n_padded).long()
    return {name: tensor.to(device) for name, tensor in inputs.items()}
