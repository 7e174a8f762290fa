"""The rows of a batch: one per request, with its keys and values and its next tokens.

Rows are aligned at their ends, all in one column, so that every step writes one column for all of
them, a row may be shorter than its neighbours, and the distance between two tokens of a row is that
of their columns, as sliding windows need it. A row that leaves is replaced by the last. A row that
enters ends where the others end. Attention of one new token reads keys and values without a copy
for each head that shares them.

A request uses one uniform number per token, whatever runs beside it. So equal logits give equal
text alone, in any batch, and when a sweep is resumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.cache_utils import Cache
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from userturn.models.requests import Request, Sampling


@dataclass
class Writing:
    """A request that is being written.

    Attributes:
        limit: largest number of tokens that it may write.
        random: its generator of random numbers, seeded by the request alone.
    """

    request: Request
    limit: int
    random: np.random.Generator
    token_ids: list[int] = field(default_factory=list)


def begin(request: Request, max_model_len: int) -> Writing:
    """Return the row of a request, or raise ValueError if its prompt leaves no room."""
    room = max_model_len - len(request.prompt.token_ids)
    if room <= 0:
        raise ValueError("the prompt is longer than max_model_len")
    random = np.random.default_rng(request.sampling.seed or 0)
    return Writing(request, min(room, request.sampling.max_tokens), random)


def write_next(rows: Sequence[Writing], logits: Any) -> None:
    """Add one token to each request, drawn from its row of `logits`."""
    with torch.inference_mode():
        chosen = _chosen(rows, logits)
    for row, token in zip(rows, chosen, strict=True):
        row.token_ids.append(token)


def _chosen(rows: Sequence[Writing], logits: Any) -> list[int]:
    logits = logits.float()
    for number, row in enumerate(rows):
        if penalty := row.request.sampling.presence_penalty:
            logits[number, list(set(row.token_ids))] -= penalty
    chosen = logits.argmax(-1)
    sampled = [n for n, row in enumerate(rows) if row.request.sampling.temperature > 0]
    if sampled:
        numbers = [rows[n].random.random() for n in sampled]
        settings = [rows[n].request.sampling for n in sampled]
        chosen[sampled] = draw_tokens(logits[sampled], settings, numbers)
    token_ids: list[int] = chosen.tolist()
    return token_ids


def draw_tokens(logits: Any, settings: Sequence[Sampling], numbers: Sequence[float]) -> Any:
    """Return one token per row by inverting its distribution at a number in [0, 1).

    As in vLLM: temperature, then top_k, then top_p over what top_k left. Tokens that tie with the
    last one kept are kept.
    """

    def column(values: Sequence[float]) -> Any:
        return torch.tensor(values, device=logits.device)[:, None]

    scores = logits / column([s.temperature for s in settings])
    n_allowed = [s.top_k if 0 < s.top_k < scores.shape[1] else scores.shape[1] for s in settings]
    masses = [s.top_p for s in settings]
    if min(masses) < 1 or min(n_allowed) < scores.shape[1]:
        n_most = scores.shape[1] if max(n_allowed) == scores.shape[1] else max(n_allowed)
        best = scores.topk(n_most).values
        ranks = torch.arange(n_most, device=logits.device)
        best = best.masked_fill(ranks >= column(n_allowed), -torch.inf)
        before = best.softmax(-1).cumsum(-1) - best.softmax(-1)
        is_left = (before < column(masses)) & best.isfinite()
        lowest = best.masked_fill(~is_left, torch.inf).amin(-1, keepdim=True)
        scores = scores.masked_fill(scores < lowest, -torch.inf)
    reached = scores.double().softmax(-1).cumsum(-1)
    goals = column(numbers).double() * reached[:, -1:]
    return torch.searchsorted(reached, goals, right=True)[:, 0]


def aligned(texts: Sequence[Sequence[int]], device: Any) -> dict[str, Any]:
    """Return token ids, attention mask and positions of texts, padded on the left.

    Texts of equal length get no mask, because attention is then faster.
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


SPARE_COLUMNS = 128  # tokens that are written before the rows are moved to the left


class RowCache(Cache):  # type: ignore[misc]
    """The cache of keys and values while a model continues several rows by one token each.

    Attributes:
        bytes_a_token: size of one token's keys and values in all layers.
        starts: the column in which each row begins.
        end: the column behind the last token of every row.
    """

    def __init__(self, of_one_token: Sequence[tuple[Any, Any]]) -> None:
        """Make an empty cache, given the keys and values of one token by layer."""
        super().__init__(layers=[])
        self.stored = [(key[:0, :, :0], value[:0, :, :0]) for key, value in of_one_token]
        self.bytes_a_token = sum(key.nbytes + value.nbytes for key, value in of_one_token)
        self.starts: list[int] = []
        self.end = 0

    @property
    def begin(self) -> int:
        """The first column that a row uses."""
        return min(self.starts, default=self.end)

    @property
    def is_sliding(self) -> list[bool]:
        """False for each layer, because all keep all tokens and a mask makes a sliding window."""
        return [False] * len(self.stored)

    @property
    def is_compileable(self) -> bool:
        """False, because the cache is not made for compiled models."""
        return False

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return the number of columns in use."""
        return self.end - self.begin

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        """Return the number of columns with the new ones, and the position of the first."""
        return self.end - self.begin + query_length, 0

    def update(
        self, key_states: Any, value_states: Any, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Write a layer's next column, and return keys and values of all columns in use."""
        n_rows, columns = len(self.starts), slice(self.begin, self.end + 1)
        keys, values = self.stored[layer_idx]
        keys[:n_rows, :, self.end] = key_states[:, :, 0]
        values[:n_rows, :, self.end] = value_states[:, :, 0]
        return keys[:n_rows, :, columns], values[:n_rows, :, columns]

    def enter(self, layers: Sequence[tuple[Any, Any]], lengths: Sequence[int]) -> None:
        """Add rows, whose keys and values in `layers` are aligned at their ends."""
        n_rows, width = len(self.starts), max(lengths)
        self._make_room(n_rows + len(lengths), width)
        rows, columns = slice(n_rows, n_rows + len(lengths)), slice(self.end - width, self.end)
        for (keys, values), (new_keys, new_values) in zip(self.stored, layers, strict=True):
            keys[rows, :, columns] = new_keys
            values[rows, :, columns] = new_values
        self.starts += [self.end - length for length in lengths]

    def leave(self, finished: Sequence[int]) -> list[int]:
        """Remove rows by number, and return the old number of each staying row in the new order."""
        n_staying = len(self.starts) - len(finished)
        moved = [row for row in range(n_staying, len(self.starts)) if row not in finished]
        holes = [row for row in finished if row < n_staying]
        columns = slice(self.begin, self.end)
        for stored in self.stored if moved else ():
            for tensor in stored:
                tensor[holes, :, columns] = tensor[moved, :, columns]
        order = list(range(n_staying))
        for hole, row in zip(holes, moved, strict=True):
            order[hole] = row
        self.starts = [self.starts[row] for row in order]
        return order

    def step_inputs(self, device: Any) -> tuple[Any, Any]:
        """Make room for the next column, and return its attention mask and positions."""
        if self.end == self.stored[0][0].shape[2]:
            self._make_room(len(self.starts), self.end - self.begin)
        starts = torch.tensor(self.starts, device=device)[:, None]
        columns = torch.arange(self.begin, self.end + 1, device=device)
        return (columns >= starts).long(), self.end - starts

    def _make_room(self, n_rows: int, width: int) -> None:
        """Make room for so many rows, so many columns before the end, and a spare one behind it."""
        most_rows, _, most_columns, _ = self.stored[0][0].shape
        if n_rows <= most_rows and width <= self.end < most_columns:
            return
        old = (slice(len(self.starts)), slice(None), slice(self.begin, self.end))
        width = max(width, self.end - self.begin)
        for layer, (keys, values) in enumerate(self.stored):
            larger = [_moved(x, old, max(n_rows, most_rows), width) for x in (keys, values)]
            self.stored[layer] = (larger[0], larger[1])
        self.starts = [start - self.end + width for start in self.starts]
        self.end = width


def _moved(tensor: Any, old: tuple[slice, slice, slice], n_rows: int, end: int) -> Any:
    """Return a larger tensor that has a part of the old one before the column `end`."""
    # Zeros, since a masked column is multiplied by zero, which a stray NaN would survive.
    moved = tensor.new_zeros(n_rows, tensor.shape[1], end + SPARE_COLUMNS, tensor.shape[3])
    part = tensor[old]
    moved[: part.shape[0], :, end - part.shape[2] : end] = part
    return moved


SHARED_HEADS = "sdpa_of_shared_heads"


def _attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **settings: Any
) -> tuple[Any, None]:
    """Return what transformers' own `sdpa` returns, and None for the weights.

    transformers repeats the keys and values for every head that shares them as soon as there is a
    mask: at 64 rows of 200 tokens SmolLM2-135M spends four fifths of a step on those copies. Here
    the heads that share are the queries of one head.
    """
    n_rows, n_heads, n_new, _ = query.shape
    n_shared = key.shape[1]
    if n_new > 1 or n_heads == n_shared or settings.get("position_bias") is not None:
        output: tuple[Any, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, **settings
        )
        return output
    by_head = query.reshape(n_rows, n_shared, n_heads // n_shared, -1)
    scale = settings.get("scaling")
    attended = scaled_dot_product_attention(
        by_head, key, value, attn_mask=attention_mask, scale=scale
    )
    return attended.reshape(n_rows, 1, n_heads, -1), None


def share_heads(model: Any) -> None:
    """Make a model that uses `sdpa` use the attention of this module."""
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(SHARED_HEADS, _attention)
        AttentionMaskInterface.register(SHARED_HEADS, sdpa_mask)
        model.set_attn_implementation(SHARED_HEADS)
