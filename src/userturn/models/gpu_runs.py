"""One run of the GPU check: a small model is loaded into vLLM in one way and writes some texts.

Prompts share a long beginning and are more tokens than vLLM reads in one step, so that prefix
caching and chunked prefill have work. What was written is scored, with the cache and without.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from userturn.models.engine_account import vllm_account
from userturn.models.requests import Request, make_request
from userturn.models.sampling import Sampling
from userturn.models.scoring import ScoringRequest, scoring_request
from userturn.models.vllm import (
    CPU_SETTINGS,
    VLLM_ENVIRONMENT,
    engine_in,
    start_vllm,
    vllm_parameters,
)
from userturn.models.vllm_scoring import scored, scoring_parameters
from userturn.prompts.examples import EXAMPLE, user
from userturn.prompts.load_template import load_template

ENTRY: Any = {"enable_thinking": False}
TODAY = "2026-04-02"
N_REPEATED = 8  # times that the example begins each prompt: some 500 tokens
OWN_PROCESS = "VLLM_ENABLE_V1_MULTIPROCESSING"
Texts = list[tuple[int, ...]]
Scores = Sequence[tuple[float, ...] | None]
Writer = Callable[[Any, Sequence[Request]], Texts]


class Size(NamedTuple):
    """How much is written: requests, tokens of each, and requests that are repeated alone."""

    n_requests: int = 256
    n_tokens: int = 128
    n_alone: int = 16


@dataclass(frozen=True)
class Way:
    """One way to load a model.

    Attributes:
        name: for the table.
        folder: the model's files.
        settings: of the study's engine.
        is_bare: leave everything to vLLM but precision and length.
    """

    name: str
    folder: Path
    settings: Mapping[str, Any]
    is_bare: bool = False


class Outcome(NamedTuple):
    """What one way did.

    Attributes:
        settings: as vLLM has them, by name.
        seconds: for loading.
        pace: tokens a second, all requests together.
        memory: GB taken on the first GPU; None without one.
        texts: the tokens of each request, all together.
        alone: the tokens of the first requests, one at a time.
        scores: of the first texts after their prompts, which are cached; None where there are none.
        scores_anew: of the same texts, one at a time without the cache.
    """

    settings: Mapping[str, str]
    seconds: float
    pace: float
    memory: float | None
    texts: Texts
    alone: Texts
    scores: Scores = ()
    scores_anew: Scores = ()


def requests_of(folder: Path, size: Size) -> list[Request]:
    """Return the requests; every other one is sampled, each with a seed of its own."""
    template, made = load_template(folder, ENTRY, TODAY), []
    for n in range(size.n_requests):
        asked = [*EXAMPLE * N_REPEATED, user(f"Name {n + 2} rivers, and say where each ends.")]
        prompt, seed = template.answer_prompt(asked), n if n % 2 else None
        sampling = Sampling(float(n % 2), 1.0, 0, 0.0, size.n_tokens, (), seed)
        made.append(make_request({}, "gpu check", str(n), 0, prompt, sampling))
    return made


def run(way: Way, size: Size) -> Outcome:
    """Load the model in one way and write all requests, together and then some alone."""
    requests, began = requests_of(way.folder, size), time.monotonic()
    llm = _bare(way) if way.is_bare else start_vllm(way.folder, way.settings)
    try:
        return _write_all(llm, _write_bare if way.is_bare else _write, requests, size, began)
    finally:  # vLLM's own processes outlive the model, and this process would wait for them
        llm.llm_engine.engine_core.shutdown()


def _write_all(
    llm: Any, write: Writer, requests: Sequence[Request], size: Size, began: float
) -> Outcome:
    write(llm, requests[:1])  # some of vLLM is compiled at the first request
    loaded = time.monotonic()
    texts = write(llm, requests)
    pace = sum(map(len, texts)) / (time.monotonic() - loaded)
    alone = [text for request in requests[: size.n_alone] for text in write(llm, [request])]
    outcome = Outcome(_settings(llm), loaded - began, pace, _memory(), texts, alone)
    if write is _write_bare:
        return outcome
    asked = [_to_score(*pair) for pair in zip(requests, texts[: size.n_alone], strict=False)]
    done = dict(filter(None, engine_in(llm)(asked)))
    anew = [_score_anew(llm, one) for one in asked]
    return outcome._replace(scores=[done[one].logprobs for one in asked], scores_anew=anew)


def _to_score(request: Request, text: Sequence[int]) -> ScoringRequest:
    prompt = request.prompt.token_ids
    return scoring_request({}, "gpu check", request.key, [*prompt, *text], len(prompt))


def _score_anew(llm: Any, request: ScoringRequest) -> tuple[float, ...] | None:
    prompt, afresh = {"prompt_token_ids": list(request.token_ids)}, scoring_parameters(False)
    (output,) = llm.generate([prompt], afresh, use_tqdm=False)
    done = scored(output, request)
    return None if done is None else done.logprobs


def _bare(way: Way) -> Any:
    """Return the model in vLLM as it starts by itself, in a process of its own."""
    for name, value in VLLM_ENVIRONMENT.items():
        if name != OWN_PROCESS:
            os.environ.setdefault(name, value)
    from vllm import LLM
    from vllm.platforms import current_platform

    settings = {name: way.settings[name] for name in ("dtype", "max_model_len")}
    settings |= CPU_SETTINGS if current_platform.is_cpu() else {}
    return LLM(model=str(way.folder), skip_tokenizer_init=True, **settings)


def _write_bare(llm: Any, requests: Sequence[Request]) -> Texts:
    prompts = [{"prompt_token_ids": list(one.prompt.token_ids)} for one in requests]
    parameters = [vllm_parameters(one.sampling) for one in requests]
    found = llm.generate(prompts, parameters, use_tqdm=False)
    return [tuple(one.outputs[0].token_ids) for one in found]


def _write(llm: Any, requests: Sequence[Request]) -> Texts:
    done = {request.key: made for request, made in filter(None, engine_in(llm)(requests))}
    return [done[request.key].token_ids for request in requests]


def _settings(llm: Any) -> dict[str, str]:
    """Return the settings that vLLM says it has."""
    config = llm.llm_engine.vllm_config
    account = vllm_account(llm)
    graphs = "none" if config.model_config.enforce_eager else None
    return {
        "GPUs": str(config.parallel_config.tensor_parallel_size),
        "model runner": account["runner"],
        "attention": account["attention"],
        "CUDA graphs": graphs or str(config.compilation_config.cudagraph_mode.name).lower(),
        "chunked prefill": str(config.scheduler_config.enable_chunked_prefill).lower(),
        "prefix caching": str(config.cache_config.enable_prefix_caching).lower(),
    }


def _memory() -> float | None:
    """Return the GB that are taken on the first GPU; None without one."""
    import torch

    if not torch.cuda.is_available():
        return None
    free, total = torch.cuda.mem_get_info()
    return float(total - free) / 1e9
