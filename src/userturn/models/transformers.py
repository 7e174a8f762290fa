"""The engine transformers: many requests together, each with its own sampling and stops.

It runs on a CUDA GPU or a CPU. Requests run one at a time if the study is to be exact, or a layer
of the model keeps a state instead of tokens.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from userturn.models.engine_account import note_engine, transformers_account
from userturn.models.requests import AnyRequest, Completion, Engine, ScoringRequest
from userturn.models.whole_model import whole_model

ROWS = 64  # requests that run together, unless the settings say otherwise
CPU_BYTES = 4_000_000_000  # of keys and values, as for vLLM on a CPU
GPU_SHARE = 0.5  # of what the weights leave free; the rest is for what a pass computes


def _one_token_states(model: Any) -> list[tuple[Any, Any]] | None:
    """Return the keys and values of one token by layer, or None if a layer keeps a state."""
    import torch
    from transformers.cache_utils import DynamicCache, get_layer_types_and_kwargs

    config = model.config.get_text_config(decoder=True)
    kinds = get_layer_types_and_kwargs(config)[0]  # without layers that share another's keys
    if not set(kinds) <= {"full_attention", "sliding_attention"}:
        return None
    cache = DynamicCache()
    with torch.inference_mode():
        model(torch.tensor([[0]], device=model.device), past_key_values=cache, use_cache=True)
    states = [(layer.keys, layer.values) for layer in cache.layers]
    is_whole = len(states) == len(kinds)
    return states if is_whole and all(keys is not None for keys, _ in states) else None


def _loaded(folder: Path, settings: Mapping[str, Any]) -> tuple[Any, Any]:
    import torch
    from transformers import AutoTokenizer

    # Not a Mac's GPU: nobody has compared what it writes with a CPU's.
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
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
    import torch

    from userturn.models.batch import Bounds, score_texts, write_one_by_one, write_together
    from userturn.models.batch_rows import share_heads

    share_heads(model)
    note_engine(transformers_account(model))
    one = None if settings.get("exact") else _one_token_states(model)
    longest = settings["max_model_len"]
    on_gpu = model.device.type == "cuda"
    free = int(GPU_SHARE * torch.cuda.mem_get_info()[0]) if on_gpu else CPU_BYTES
    bounds = Bounds(longest, settings.get("max_num_seqs", ROWS), free)

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
