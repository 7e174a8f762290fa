"""Requests to an engine, with their keys and seeds, and the completions that come back.

A request is one prompt with its sampling settings and seed, or an existing text whose tokens'
log-likelihoods are computed. Its key is a hash of everything that shapes its result.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from userturn.prompts.chat_template import Prompt
from userturn.storage.hashing import canonical_json, fingerprint


@dataclass(frozen=True)
class Sampling:
    """How one continuation is drawn. At temperature 0, decoding is greedy and needs no seed.

    Attributes:
        top_p: nucleus mass, 1 for all.
        top_k: number of candidates, 0 for all.
        presence_penalty: subtracted from the logit of every token already written.
        max_tokens: length limit of the continuation.
        stop_token_ids: tokens that end it.
        seed: seed of this request alone.
        stop_texts: texts that end it, for templates that continue in plain text.
        begins_with: the end of the user header that the model writes, which is no part of its turn.
        is_played: whether it is a user turn that the model writes as its own answer. Reasoning and
            other wrapping of an answer are then no part of it.
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
    is_played: bool = False


KEY_VERSION = 1
# Keys of models without them stay unchanged.
ENTER_IF_SET = ("stop_texts", "begins_with", "is_played")


@dataclass(frozen=True)
class Request:
    """One request, with its dataset, item and sample.

    `key` is the sha256 of everything that can change the output. `ask` is the hash of what it
    asks for (`study.asks`), and `asked_as` the name of its dataset in key and seed.
    """

    key: str
    dataset: str
    item: str
    sample: int
    prompt: Prompt
    sampling: Sampling
    ask: str | None = None
    asked_as: str | None = None


def make_request(
    model: Mapping[str, Any],
    dataset: str,
    item: str,
    sample: int,
    prompt: Prompt,
    sampling: Sampling,
) -> Request:
    """Return a request with its key, where `model` identifies the model and its engine."""
    key = request_key(model, dataset, sample, prompt.token_ids, vars(sampling))
    return Request(key, dataset, item, sample, prompt, sampling)


def request_key(
    model: Mapping[str, Any],
    dataset: str,
    sample: int,
    prompt_token_ids: Sequence[int],
    sampling: Mapping[str, Any],
) -> str:
    """Return the key of a request, which is the sha256 of everything that shapes its output.

    The dataset is part of the key because each dataset has its own journal, which must hold all
    requests of the dataset. Its name is the one that it was first asked under. `model` is the
    identity of the model and its engine, and `sampling` has the fields of `Sampling`.
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


SCORING_VERSION = 1


@dataclass(frozen=True)
class ScoringRequest:
    """One conversation whose last tokens are scored, each given all tokens before it.

    `key` is the sha256 of everything that can change the scores. `token_ids` are those of the whole
    conversation, of which the first `n_context` are not scored. `ask` is the hash of what it asks
    for (`study.asks`), and `asked_as` the name of its dataset in its key.
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
    """Return a scoring request with its key, where `model` identifies the model and its engine.

    Each dataset has its own journal, so the dataset is part of the key, as in generation. The item
    is not, so that equal texts are scored once.

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


SEED_BITS = 63


@lru_cache(maxsize=65_536)  # the same items and samples occur in every cell
def derive_seed(study_seed: int, role: str, dataset: str, item: str, sample: int) -> int:
    """Return the seed of a request: 63 bits of a hash of the study's seed and the request's names.

    It does not depend on model, temperature or perturbation, so that contrasts over these are
    drawn with common random numbers.
    """
    text = canonical_json([study_seed, role, dataset, item, sample])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> (64 - SEED_BITS)


def role_at(role: str, depth: int) -> str:
    """Return the role that enters a seed, which names the depth of self-play beyond the first.

    With one seed for all depths, a turn would be drawn by the same random numbers as the turn
    before it, and might repeat it for that reason alone.
    """
    return role if depth == 1 else f"{role} at depth {depth}"


@dataclass(frozen=True)
class Completion:
    """The result of one request.

    Attributes:
        token_ids: all tokens written, the stop token included.
        finish_reason: `stop`, `length`, `scored`, or `error`.
        error: the reason, if the engine refused or lost the request.
        logprobs: log-likelihood in nats of each scored token, empty except for a scoring request.
    """

    token_ids: tuple[int, ...]
    finish_reason: str
    error: str | None = None
    logprobs: tuple[float, ...] = ()


AnyRequest = Request | ScoringRequest

# Yields finished requests, and None after each step, so that its caller may stop between steps.
Engine = Callable[[Iterable[AnyRequest]], Iterator[tuple[AnyRequest, Completion] | None]]


def refusal(error: Exception) -> Completion:
    """Return the completion of a request that the engine refused."""
    return Completion((), "error", f"{type(error).__name__}: {error}")


def scores(logprobs: Iterable[float]) -> Completion:
    """Return the completion of a scoring request."""
    return Completion((), "scored", logprobs=tuple(logprobs))


Decode = Callable[[Sequence[int]], str]


def first_stop(text: str, stop_texts: Sequence[str]) -> int | None:
    """Return the position in `text` where the first stop text begins, or None."""
    places = [position for stop in stop_texts if (position := text.find(stop)) >= 0]
    return min(places, default=None)


def up_to_stop(ids: Sequence[int], stop_texts: Sequence[str], decode: Decode) -> list[int] | None:
    """Return the shortest beginning of `ids` that contains a whole stop text, or None."""
    if first_stop(decode(ids), stop_texts) is None:
        return None
    n_without, n_with = 0, len(ids)
    while n_with - n_without > 1:
        middle = (n_without + n_with) // 2
        if first_stop(decode(ids[:middle]), stop_texts) is None:
            n_without = middle
        else:
            n_with = middle
    return list(ids[:n_with])
