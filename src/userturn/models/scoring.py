"""Scoring requests: an existing text whose tokens' log-likelihoods are computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from userturn.storage.hashing import fingerprint

SCORING_VERSION = 1


@dataclass(frozen=True)
class ScoringRequest:
    """One conversation whose last tokens are scored, each given all tokens before it.

    Attributes:
        key: the sha256 of everything that can change the scores.
        dataset: name of the request's dataset.
        item: id of the item in the dataset.
        token_ids: token ids of the whole conversation: the context, then the turn.
        n_context: number of leading tokens that are context and are not scored.
        ask: what it asks for (`study.asks`).
        asked_as: name of its dataset in its key.
    """

    key: str
    dataset: str
    item: str
    token_ids: tuple[int, ...]
    n_context: int
    ask: str | None = None
    asked_as: str | None = None


def scoring_request(
    model: Mapping[str, Any], dataset: str, item: str, token_ids: Sequence[int], n_context: int
) -> ScoringRequest:
    """Return a scoring request with its key; `model` is the identity of the model and its engine.

    Each dataset has its own journal, so the dataset is part of the key, as in generation. The item
    is not: equal texts are scored once.

    Raises:
        ValueError: no token is left to score, or none to condition on.
    """
    if not 0 < n_context < len(token_ids):
        raise ValueError(
            f"found {n_context} context tokens of {len(token_ids)}, expected at least one token "
            "of context and one to score"
        )
    key = fingerprint(
        {
            "scoring_version": SCORING_VERSION,
            "model": dict(model),
            "dataset": dataset,
            "token_ids": list(token_ids),
            "n_context": n_context,
        }
    )
    return ScoringRequest(key, dataset, item, tuple(token_ids), n_context)
