"""The engine transformers: many requests together, each with its own sampling and stops.

On a CUDA GPU, or a CPU. One request at a time where the study is to be exact, or a layer
of the model keeps a state instead of tokens.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from userturn.models.aligned_texts import aligned
from userturn.models.completion import AnyRequest, Completion, Engine, refusal, scores
from userturn.models.engine_account import note_engine, transformers_account
from userturn.models.scoring import ScoringRequest
from userturn.models.whole_model import whole_model

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


SHARED_HEADS = "sdpa_of_shared_heads"


def _attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **settings: Any
) -> tuple[Any, None]:
    """Return what transformers' own `sdpa` returns, and None for the weights."""
    n_rows, n_heads, n_new, _ = query.shape
    n_shared = key.shape[1]
    if n_new > 1 or n_heads == n_shared or settings.get("position_bias") is not None:
        output: tuple[Any, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, **settings
        )
        return output
    by_head = query.reshape(n_rows, n_shared, n_heads // n_shared, -1)
    scale = settings.get("scaling")
    found = scaled_dot_product_attention(by_head, key, value, attn_mask=attention_mask, scale=scale)
    return found.reshape(n_rows, 1, n_heads, -1), None


def share_heads(model: Any) -> None:
    """Use this attention in a model that uses `sdpa`."""
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(SHARED_HEADS, _attention)
        AttentionMaskInterface.register(SHARED_HEADS, sdpa_mask)
        model.set_attn_implementation(SHARED_HEADS)


ROWS = 64  # requests that run together, unless the settings say otherwise
CPU_BYTES = 4_000_000_000  # of keys and values, as for vLLM on a CPU
GPU_SHARE = 0.5  # of what the weights leave free; the rest is for what a pass computes


def _device() -> Any:
    import torch

    # Not a Mac's GPU: nobody has compared what it writes with a CPU's.
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _free_bytes(device: Any) -> int:
    """Return the memory that keys and values may take."""
    import torch

    if device.type == "cuda":
        return int(GPU_SHARE * torch.cuda.mem_get_info()[0])
    return CPU_BYTES


def _of_one_token(model: Any) -> list[tuple[Any, Any]] | None:
    """Return the keys and values of one token by layer; None if a layer keeps something else."""
    import torch
    from transformers.cache_utils import DynamicCache, get_layer_types_and_kwargs

    config = model.config.get_text_config(decoder=True)
    kinds = get_layer_types_and_kwargs(config)[0]  # without layers that share another's keys
    if not set(kinds) <= {"full_attention", "sliding_attention"}:
        return None
    cache = DynamicCache()
    with torch.inference_mode():
        model(torch.tensor([[0]], device=model.device), past_key_values=cache, use_cache=True)
    found = [(layer.keys, layer.values) for layer in cache.layers]
    is_whole = len(found) == len(kinds)
    return found if is_whole and all(keys is not None for keys, _ in found) else None


def _loaded(folder: Path, settings: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the model, on its device, and the function that turns its token ids into text."""
    device = _device()
    from transformers import AutoTokenizer

    trusts = settings.get("trust_remote_code", False)
    about = {"dtype": settings["dtype"], "trust_remote_code": trusts}
    model = whole_model(folder, **about).to(device)
    if not settings.get("reads_text"):
        return model, None
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trusts)
    return model, lambda ids: tokenizer.decode(ids, clean_up_tokenization_spaces=False)


def load_transformers(folder: Path, settings: Mapping[str, Any]) -> Engine:
    """Load a model into transformers and return its engine."""
    model, decode = _loaded(folder, settings)
    from userturn.models.batch import Bounds, write_one_by_one, write_together
    from userturn.models.transformers import score_texts, share_heads

    share_heads(model)
    note_engine(transformers_account(model))
    one = None if settings.get("exact") else _of_one_token(model)
    longest = settings["max_model_len"]
    bounds = Bounds(longest, settings.get("max_num_seqs", ROWS), _free_bytes(model.device))

    def generate(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion] | None]:
        alike: Any
        for kind, alike in groupby(requests, key=type):
            if kind is ScoringRequest:
                yield from score_texts(model, alike, longest, is_alone=one is None)
            elif one is None:
                yield from write_one_by_one(model, decode, alike, longest)
            else:
                yield from write_together(model, decode, one, alike, bounds)

    return generate
