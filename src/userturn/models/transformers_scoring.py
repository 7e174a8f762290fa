"""Score given texts with transformers, several in one pass."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import torch

from userturn.models.aligned_texts import aligned
from userturn.models.completion import Completion, refusal, scores
from userturn.models.scoring import ScoringRequest

SORTED = 512  # texts that are sorted by length before they are grouped
PASS_TOKENS = 2048
LOGITS_BYTES = 256_000_000  # of float32 logits in one pass


def score_texts(
    model: Any, requests: Iterable[ScoringRequest], max_model_len: int, is_alone: bool
) -> Iterator[tuple[ScoringRequest, Completion] | None]:
    """Yield the scores of each text, and None after each pass; one text in a pass if `is_alone`."""
    waiting = iter(requests)
    while asked := list(islice(waiting, SORTED)):
        for request in asked:
            if len(request.token_ids) >= max_model_len:
                yield request, refusal(ValueError("the text is as long as max_model_len"))
        window = [request for request in asked if len(request.token_ids) < max_model_len]
        window.sort(key=lambda request: -len(request.token_ids))
        for group in _groups(window, model.config.get_text_config().vocab_size, is_alone):
            yield from zip(group, _scored(model, group), strict=True)
            yield None


def _groups(
    requests: Sequence[ScoringRequest], n_tokens: int, is_alone: bool
) -> Iterator[list[ScoringRequest]]:
    """Split sorted texts into groups that one pass can hold."""
    group: list[ScoringRequest] = []
    for request in requests:
        larger = [*group, request]
        n_logits = len(larger) * _n_kept(larger) * n_tokens
        is_large = len(larger) * len(larger[0].token_ids) > PASS_TOKENS
        if group and (is_alone or is_large or 4 * n_logits > LOGITS_BYTES):
            yield group
            larger = [request]
        group = larger
    if group:
        yield group


def _n_kept(group: Sequence[ScoringRequest]) -> int:
    """Return how many positions at the end of each text predict a scored token, and one more."""
    return max(len(request.token_ids) - request.n_context for request in group) + 1


def _scored(model: Any, group: Sequence[ScoringRequest]) -> list[Completion]:
    """Return the log-likelihood of each token after its context, in float32 from its logits."""
    inputs = aligned([request.token_ids for request in group], model.device)
    n_kept = _n_kept(group)
    with torch.inference_mode():
        output = model(**inputs, use_cache=False, logits_to_keep=n_kept)
        logits = output.logits[:, :-1].float()
        given = logits.gather(-1, inputs["input_ids"][:, 1 - n_kept :, None])[:, :, 0]
        found = (given - logits.logsumexp(-1)).tolist()
    return [
        scores(row[request.n_context - len(request.token_ids) :])
        for row, request in zip(found, group, strict=True)
    ]
