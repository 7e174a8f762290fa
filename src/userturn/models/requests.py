"""Requests: one prompt with its sampling settings and seed, keyed by all that shapes its output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from userturn.models.sampling import Sampling
from userturn.prompts.chat_template import Prompt
from userturn.storage.hashing import fingerprint

KEY_VERSION = 1
# Keys of models without them stay unchanged.
ENTER_IF_SET = ("stop_texts", "begins_with", "is_played")


@dataclass(frozen=True)
class Request:
    """One request, with its dataset, item and sample.

    `key` is its identity: the sha256 of everything that can change the output. `ask` is what it
    asks for (`study.asks`) and `asked_as` the name of its dataset in key and seed.
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
    """Return the key of a request: the sha256 of everything that shapes its output.

    The dataset is part of the key because each dataset has its own journal, which must hold all
    requests of the dataset.

    Args:
        model: the identity of the model and its engine.
        dataset: name that the request's dataset was first asked under.
        sample: number of the sample, from 0.
        prompt_token_ids: token ids of the prompt.
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
