"""The engine vLLM: its settings on GPUs and on a CPU, and requests fed to it in a fixed order.

vLLM returns no scores for tokens in its prefix cache, so by default it does not use the cache for
requests that ask for scores. Here only the end of a prompt is scored, so the cache is used, and a
request whose scored tokens were in it is sent again without the cache.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from userturn.models.engine_account import note_engine, vllm_account
from userturn.models.multi_node import settings_of_nodes, start_workers
from userturn.models.requests import (
    AnyRequest,
    Completion,
    Engine,
    Sampling,
    ScoringRequest,
    refusal,
    scores,
)
from userturn.storage.files import read_json


def scoring_parameters(shares_prefix: bool = True) -> Any:
    """Return vLLM's parameters of a scoring request, whose one written token is ignored."""
    from vllm import SamplingParams

    return SamplingParams(
        temperature=0,
        max_tokens=1,
        prompt_logprobs=0,  # only for the prompt's own tokens
        flat_logprobs=True,  # lists instead of an object per token
        skip_reading_prefix_cache=not shares_prefix,
        detokenize=False,
    )


def scored(output: Any, request: ScoringRequest) -> Completion | None:
    """Return the scores of a finished request, or None if the prefix cache left some out.

    The score of a token comes from the state at the token before it, which must not be cached.

    vLLM 0.32 has two model runners. V1, on CPUs, returns a row for each token of the prompt, those
    of cached tokens with whatever was in memory. V2, on GPUs, returns rows of computed tokens only,
    and after a preemption only those that were computed since. So rows are counted from the end,
    and there must be as many as one of the two returns.
    """
    logprobs, n_cached = output.prompt_logprobs, output.num_cached_tokens or 0
    n_tokens, begins = len(request.token_ids), logprobs.start_indices
    if n_cached >= request.n_context or len(begins) not in (n_tokens, n_tokens - n_cached):
        return None
    return scores(logprobs.logprobs[begin] for begin in begins[request.n_context - n_tokens :])


# Everything in one process: it starts faster, and the schedule is the same in every run.
VLLM_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_CPU_KVCACHE_SPACE": "4",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}

# A prompt split over two steps makes vLLM 0.32 rewind the seeded generator; on CPUs it cannot be.
CPU_SETTINGS = {
    "enable_chunked_prefill": False,
    "enforce_eager": True,
    "distributed_executor_backend": "uni",
    "tensor_parallel_size": 1,
    "pipeline_parallel_size": 1,
}

CPU_BATCHED_TOKENS = 4096

# vLLM 0.32 has no batch-invariant mode on CPUs, so there one sequence runs at a time.
ALONE = {"max_num_seqs": 1, "enable_prefix_caching": False}
BATCH_INVARIANT = "VLLM_BATCH_INVARIANT"

# vLLM 0.32 allocates the buffers between nodes during warm-up, and not at all in eager mode.
CPU_NODES_SETTINGS = {"enforce_eager": False, "compilation_config": {"mode": 2, "backend": "eager"}}

# Requests that vLLM holds at once: enough to keep every batch full, few enough for flat memory.
WINDOW = 2048
NO_SCORES = "vLLM returned no scores for some tokens of the text, though it used no cache"


def vllm_parameters(sampling: Sampling) -> Any:
    """Return vLLM's form of sampling settings."""
    from vllm import SamplingParams

    return SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        presence_penalty=sampling.presence_penalty,
        max_tokens=sampling.max_tokens,
        stop_token_ids=list(sampling.stop_token_ids),
        seed=sampling.seed,
        stop=list(sampling.stop_texts),
        detokenize=bool(sampling.stop_texts),
        skip_special_tokens=False,
    )


def _is_hybrid(settings: Mapping[str, Any]) -> bool:
    from vllm.engine.arg_utils import EngineArgs

    return bool(EngineArgs(**settings).create_model_config().is_hybrid)


def _for_platform(folder: Path, settings: Mapping[str, Any], is_cpu: bool) -> dict[str, Any]:
    """Return vLLM's settings for a model on this machine, and start workers on other nodes."""
    config = read_json(folder / "config.json")
    has_encoders = any(config.get(part) for part in ("vision_config", "audio_config"))
    only_text = {"language_model_only": True} if has_encoders else {}  # which is all that is sent
    settings = only_text | dict(settings)
    if settings.pop("exact", False):
        settings |= ALONE if is_cpu else {}
        os.environ[BATCH_INVARIANT] = "0" if is_cpu else "1"  # read when vLLM's parts are imported
    if is_cpu:
        settings |= CPU_SETTINGS
        settings["max_num_batched_tokens"] = max(settings["max_model_len"], CPU_BATCHED_TOKENS)
    reads_text = settings.pop("reads_text", False)  # needed to stop at texts
    settings |= {"model": str(folder), "skip_tokenizer_init": not reads_text}
    if is_cpu and settings.get("enable_prefix_caching") and _is_hybrid(settings):
        settings["enable_prefix_caching"] = False  # for states it needs chunked prefill
    if settings.get("nnodes", 1) > 1:
        settings |= settings_of_nodes(settings["nnodes"]) | (CPU_NODES_SETTINGS if is_cpu else {})
        start_workers(settings["nnodes"], settings)
    return settings


def _add(vllm: Any, request: AnyRequest, **scoring: bool) -> None:
    """Add a request to the engine, or raise ValueError if it is refused."""
    if isinstance(request, ScoringRequest):
        ids, parameters = request.token_ids, scoring_parameters(**scoring)
    else:
        ids, parameters = request.prompt.token_ids, vllm_parameters(request.sampling)
    vllm.add_request(request.key, {"prompt_token_ids": list(ids)}, parameters)


def _completion(output: Any, request: AnyRequest) -> Completion | None:
    """Return the completion of a request, or None for scores that must be computed again."""
    if isinstance(request, ScoringRequest):
        return scored(output, request)
    written = output.outputs[0]
    return Completion(tuple(written.token_ids), str(written.finish_reason))


def start_vllm(folder: Path, settings: Mapping[str, Any]) -> Any:
    """Load a model into vLLM, in this process, and return vLLM's own object."""
    for name, value in VLLM_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from vllm.platforms import current_platform

    settings = _for_platform(folder, settings, current_platform.is_cpu())
    from vllm import LLM

    return LLM(**settings)


def load_vllm(folder: Path, settings: Mapping[str, Any]) -> Engine:
    """Load a model into vLLM and return its engine."""
    llm = start_vllm(folder, settings)
    note_engine(vllm_account(llm))
    return engine_in(llm)


def engine_in(llm: Any) -> Engine:
    """Return the engine of a model that vLLM has loaded."""
    vllm = llm.llm_engine

    def generate(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion] | None]:
        waiting = iter(requests)
        by_id: dict[str, AnyRequest] = {}
        sent_again: set[str] = set()
        while True:
            while len(by_id) < WINDOW and (request := next(waiting, None)) is not None:
                try:
                    _add(vllm, request)
                    by_id[request.key] = request
                except ValueError as error:
                    yield request, refusal(error)
            if not by_id:
                return
            for output in vllm.step():
                if not output.finished:
                    continue
                request = by_id[output.request_id]
                finished = _completion(output, request)
                if finished is None and request.key in sent_again:
                    finished = refusal(ValueError(NO_SCORES))
                if finished is None:
                    sent_again.add(request.key)
                    _add(vllm, request, shares_prefix=False)
                else:
                    del by_id[request.key]
                    yield request, finished
            yield None

    return generate
