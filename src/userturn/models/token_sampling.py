"""Draw the next token of several requests, each with its own settings and random numbers.

A request uses one uniform number a token, whatever runs beside it, so that equal logits give equal
text alone, in any batch, and when a sweep is resumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from userturn.models.requests import Request
from userturn.models.sampling import Sampling


@dataclass
class Writing:
    """A request that is being written.

    Attributes:
        request: the request.
        limit: the most tokens that it may write.
        random: its random numbers, seeded by it alone.
        token_ids: the tokens written so far.
    """

    request: Request
    limit: int
    random: np.random.Generator
    token_ids: list[int] = field(default_factory=list)


def begin(request: Request, max_model_len: int) -> Writing:
    """Return a request that has written nothing yet.

    Raises:
        ValueError: the prompt leaves no room.
    """
    room = max_model_len - len(request.prompt.token_ids)
    if room <= 0:
        raise ValueError("the prompt is longer than max_model_len")
    random = np.random.default_rng(request.sampling.seed or 0)
    return Writing(request, min(room, request.sampling.max_tokens), random)


def write_next(rows: Sequence[Writing], logits: Any) -> None:
    """Add one token to each request; `logits` has one row for each, in the same order."""
    import torch

    with torch.inference_mode():
        chosen = _chosen(rows, logits)
    for row, token in zip(rows, chosen, strict=True):
        row.token_ids.append(token)


def _chosen(rows: Sequence[Writing], logits: Any) -> list[int]:
    """Return the next token of each row."""
    logits = logits.float()
    for number, row in enumerate(rows):
        if penalty := row.request.sampling.presence_penalty:
            logits[number, list(set(row.token_ids))] -= penalty
    chosen = logits.argmax(-1)
    drawn = [n for n, row in enumerate(rows) if row.request.sampling.temperature > 0]
    if drawn:
        numbers = [rows[n].random.random() for n in drawn]
        settings = [rows[n].request.sampling for n in drawn]
        chosen[drawn] = draw_tokens(logits[drawn], settings, numbers)
    found: list[int] = chosen.tolist()
    return found


def draw_tokens(logits: Any, settings: Sequence[Sampling], numbers: Sequence[float]) -> Any:
    """Return one token a row by inverting its distribution at a number from 0 to below 1.

    As in vLLM: temperature, then top_k, then top_p over what top_k left. Tokens that tie with the
    last one kept are kept.
    """
    import torch

    def column(values: Sequence[float]) -> Any:
        return torch.tensor(values, device=logits.device)[:, None]

    scores = logits / column([s.temperature for s in settings])
    n_kept = [s.top_k if 0 < s.top_k < scores.shape[1] else scores.shape[1] for s in settings]
    masses = [s.top_p for s in settings]
    if min(masses) < 1 or min(n_kept) < scores.shape[1]:
        n_most = scores.shape[1] if max(n_kept) == scores.shape[1] else max(n_kept)
        best = scores.topk(n_most).values
        ranks = torch.arange(n_most, device=logits.device)
        best = best.masked_fill(ranks >= column(n_kept), -torch.inf)
        before = best.softmax(-1).cumsum(-1) - best.softmax(-1)
        is_left = (before < column(masses)) & best.isfinite()
        lowest = best.masked_fill(~is_left, torch.inf).amin(-1, keepdim=True)
        scores = scores.masked_fill(scores < lowest, -torch.inf)
    reached = scores.double().softmax(-1).cumsum(-1)
    goals = column(numbers).double() * reached[:, -1:]
    return torch.searchsorted(reached, goals, right=True)[:, 0]
