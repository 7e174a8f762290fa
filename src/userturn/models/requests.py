"""Requests: one prompt with its sampling settings and seed, known by everything that shapes it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from userturn.prompts.chat_template import Prompt
from userturn.storage.hashing import canonical_json, fingerprint

KEY_VERSION = 1
SEED_BITS = 63
ENTER_IF_SET = ("stop_texts", "begins_with")  # keys of models without them stay as they were


@dataclass(frozen=True)
class Sampling:
    """How one continuation is drawn. At temperature 0 decoding is greedy and needs no seed.

    Attributes:
        temperature: softmax temperature.
        top_p: nucleus mass, 1 for all.
        top_k: number of candidates, 0 for all.
        presence_penalty: subtracted from the logit of every token already written.
        max_tokens: length limit of the continuation.
        stop_token_ids: tokens that end it.
        seed: of this request alone.
        stop_texts: texts that end it, for templates that go on in plain text.
        begins_with: end of the prompt's header that the model writes itself; no part of its turn.
    """

    temperature: float
    top_p: float
    top_k: int
    presence_penalty: float
    max_tokens: int
    stop_token_ids: tuple[int, ...]
    seed: int | None
    stop_texts: tuple[str, ...] = ()
    begins_with: str = ""


@dataclass(frozen=True)
class Request:
    """One request, with its dataset, item and sample.

    `key` is its identity: the sha256 of everything that can change the output.
    """

    key: str
    dataset: str
    item: str
    sample: int
    prompt: Prompt
    sampling: Sampling


@lru_cache(maxsize=65_536)  # the same items and samples are met in every cell
def derive_seed(study_seed: int, role: str, dataset: str, item: str, sample: int) -> int:
    """Return the seed of one request: a hash, so that no two requests share one by design.

    It does not depend on model, temperature or perturbation: contrasts over these are drawn
    with common random numbers.
    """
    text = canonical_json([study_seed, role, dataset, item, sample])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> (64 - SEED_BITS)


def make_request(
    model: Mapping[str, Any],
    dataset: str,
    item: str,
    sample: int,
    prompt: Prompt,
    sampling: Sampling,
) -> Request:
    """Return a request with its key; `model` is what identifies the model and its engine."""
    key = request_key(model, dataset, sample, prompt.token_ids, vars(sampling))
    return Request(key, dataset, item, sample, prompt, sampling)


def request_key(
    model: Mapping[str, Any],
    dataset: str,
    sample: int,
    prompt_token_ids: Sequence[int],
    sampling: Mapping[str, Any],
) -> str:
    """Return the identity of a request: the fingerprint of all that shapes it.

    Each dataset has a journal of its own, in which all that it asks must stand.

    Args:
        model: what identifies the model and its engine.
        dataset: that the request is about.
        sample: number of the sample, from 0.
        prompt_token_ids: of the prompt.
        sampling: the fields of `Sampling`.
    """
    return fingerprint(
        {
            "key_version": KEY_VERSION,
            "model": dict(model),
            "dataset": dataset,
            "sample": sample,
            "prompt_token_ids": prompt_token_ids,
            "sampling": {k: v for k, v in sampling.items() if v or k not in ENTER_IF_SET},
        }
    )
