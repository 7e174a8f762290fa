"""Whether `engine: transformers` is right on this machine's GPU, and how fast.

Half of `make check-gpu`; the other half is vLLM's, `benchmarks/vllm_on_gpu.py`.

From the project's folder: `python benchmarks/transformers_on_gpu.py`. It needs torch, transformers,
numpy and yaml: no vLLM, no network, and no installed userturn. Checkpoints are random, of real
architectures, and small. The engine writes requests together, half of them greedy, half at
temperature 0.7, and scores texts. Each token and score is then held against one forward pass of
transformers over the whole text in float32. So are the scores of transformers' own pass in the
engine's number type: what these are off by is rounding, and an engine that is off by more than
twice as much is wrong. Without a GPU everything is smaller, which shows only that the script runs.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers

from userturn.models.engine import load_engine
from userturn.models.requests import (
    AnyRequest,
    Completion,
    Engine,
    Request,
    Sampling,
    ScoringRequest,
)
from userturn.prompts.chat_template import Prompt

TIMES = 2  # as much as transformers rounds: a token is chosen by two logits, each of them rounded
FLOOR = 1e-4  # nats, or probability: rounding in float32, where the reference's own is 0
SPARE_SECONDS = 30.0  # what one architecture may take
N_SCORED = 24  # last tokens of a text
HEAT = 0.7
DTYPES = ("float32", "bfloat16")
COLUMNS = (
    "architecture",
    "dtype",
    "greedy as alone",
    "sampled as alone",
    "greedy off",
    "sampled off",
    "scores off",
    "rounding",
    "seconds",
)


class Scale(NamedTuple):
    """How large models and texts are.

    Attributes:
        width: of the hidden state.
        n_layers: of the model.
        vocabulary: number of tokens.
        n_requests: written together; as many texts are scored.
        n_tokens: of each text that is written.
        longest: prompt, in tokens; a quarter of it is the same in all.
        n_alone: requests of each kind that are written again, one at a time.
    """

    width: int
    n_layers: int
    vocabulary: int
    n_requests: int
    n_tokens: int
    longest: int
    n_alone: int


ON_GPU = Scale(256, 6, 4096, 32, 48, 256, 8)
ON_CPU = Scale(64, 2, 512, 12, 12, 64, 2)


def for_states(scale: Scale) -> Scale:
    """Return the scale of a model whose layers keep states: one request is written at a time."""
    n_requests = scale.n_requests // 2
    return scale._replace(
        n_layers=4, n_requests=n_requests, n_tokens=scale.n_tokens // 2, n_alone=2
    )


def _sizes(scale: Scale, **further: Any) -> dict[str, Any]:
    heads = {"num_attention_heads": scale.width // 32, "num_key_value_heads": 2, "head_dim": 32}
    return {
        "hidden_size": scale.width,
        "intermediate_size": 2 * scale.width,
        "num_hidden_layers": scale.n_layers,
        "vocab_size": scale.vocabulary,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": False,  # else a random model repeats its last token
        "initializer_range": 1.25 / scale.width**0.5,
        **heads,
        **further,
    }


EXPERTS = {"moe_intermediate_size": 64, "num_experts_per_tok": 2}
STATES = {
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}
ARCHITECTURES: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {}),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {}),
    "gpt-oss": (
        "GptOssConfig",
        "GptOssForCausalLM",
        {"num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 64},
    ),
    "glm-4.7": (
        "Glm4MoeConfig",
        "Glm4MoeForCausalLM",
        EXPERTS | {"n_routed_experts": 8, "first_k_dense_replace": 1, "use_qk_norm": True},
    ),
    "gemma-3": ("Gemma3TextConfig", "Gemma3ForCausalLM", {"sliding_window": 64}),
    "qwen3.5": ("Qwen3_5TextConfig", "Qwen3_5ForCausalLM", STATES),
    "qwen3.5-moe": (
        "Qwen3_5MoeTextConfig",
        "Qwen3_5MoeForCausalLM",
        STATES | EXPERTS | {"shared_expert_intermediate_size": 64, "num_experts": 8},
    ),
}


class Row(NamedTuple):
    """What one architecture gave in one number type.

    Attributes:
        architecture: its name.
        dtype: the number type.
        as_alone: greedy and sampled texts that are the same when written one at a time.
        off: the mean distance of greedy tokens, sampled tokens and scores to the reference.
        rounding: that of the scores of transformers itself, in nats.
        errors: of requests that the engine refused or lost.
        seconds: that all of it took.
    """

    architecture: str
    dtype: str
    as_alone: Sequence[str]
    off: Mapping[str, float]
    rounding: float
    errors: Sequence[str]
    seconds: float

    @property
    def faults(self) -> list[str]:
        """Sentences that say what is wrong; none if nothing is."""
        name, most = f"{self.architecture} in {self.dtype}", TIMES * self.rounding + FLOOR
        far = [(what, off) for what, off in self.off.items() if not off <= most]
        return [
            *(f"{name}: {error}" for error in self.errors[:1]),
            *(
                f"{name}: {what} are {off:.2g} off, rounding explains {most:.2g}"
                for what, off in far
            ),
        ]

    def cells(self) -> list[str]:
        """Return the texts of its columns."""
        numbers = [f"{number:.2g}" for number in (*self.off.values(), self.rounding)]
        return [self.architecture, self.dtype, *self.as_alone, *numbers, f"{self.seconds:.0f}"]


def device() -> Any:
    """Return the device that the engine takes."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def written_checkpoint(name: str, scale: Scale, folder: Path) -> None:
    """Write a random checkpoint; its weights are bfloat16, so both number types have the same."""
    config, model, further = ARCHITECTURES[name]
    torch.manual_seed(0)
    settings = getattr(transformers, config)(**_sizes(scale, **further))
    getattr(transformers, model)(settings).to(torch.bfloat16).save_pretrained(folder)


def requests_of(scale: Scale, seed: int = 0) -> list[Request]:
    """Return requests that begin alike, every other one sampled with a seed of its own."""
    random, made = np.random.default_rng(seed), []
    shared = random.integers(0, scale.vocabulary, scale.longest // 4).tolist()
    for n in range(scale.n_requests):
        length = int(random.integers(8, scale.longest - len(shared)))
        ids = [*shared, *random.integers(0, scale.vocabulary, length).tolist()]
        heat, own_seed = (HEAT, n) if n % 2 else (0.0, None)
        sampling = Sampling(heat, 1.0, 0, 0.0, scale.n_tokens, (), own_seed)
        made.append(Request(f"{seed}-{n}", "d", str(n), 0, Prompt("", tuple(ids)), sampling))
    return made


def completed(engine: Engine, requests: Sequence[AnyRequest]) -> list[Completion]:
    """Return the completion of each request, in their order."""
    done = {request.key: found for request, found in filter(None, engine(requests))}
    return [done[request.key] for request in requests]


def engine_of(folder: Path, dtype: str, **further: Any) -> Engine:
    """Return the engine of a checkpoint."""
    settings = {"dtype": dtype, "max_model_len": 2048, "max_num_seqs": 64, **further}
    return load_engine("transformers", folder, settings)


def loaded(folder: Path, dtype: str) -> Any:
    """Return a checkpoint as transformers has it, without anything of ours."""
    load = transformers.AutoModelForCausalLM.from_pretrained
    return load(folder, dtype=dtype).to(device()).eval()


def logits_of(model: Any, ids: Sequence[int], n_last: int) -> Any:
    """Return the logits, in float32, that the last tokens of a text come from."""
    given = torch.tensor([list(ids)], device=device())
    with torch.inference_mode():
        return model(given, use_cache=False).logits[0, -n_last - 1 : -1].float().cpu()


def scores_by(model: Any, text: ScoringRequest) -> Any:
    """Return the scores of a text by a model of transformers."""
    ids = text.token_ids[text.n_context :]
    found = logits_of(model, text.token_ids, len(ids)).log_softmax(-1)
    return found.numpy()[np.arange(len(ids)), ids]


def tokens_off(reference: Any, request: Request, found: Completion) -> Any:
    """Return how far each token is from being the one that the reference would write.

    A greedy one: the nats by which it is below the best. A sampled one: the distance of its
    random number to its share of the reference's distribution.
    """
    ids = np.array(found.token_ids)
    text, rows = [*request.prompt.token_ids, *found.token_ids], np.arange(len(ids))
    logits = logits_of(reference, text, len(ids))
    if request.sampling.temperature == 0:
        return logits.max(-1).values.numpy() - logits.numpy()[rows, ids]
    ends = (logits / request.sampling.temperature).double().softmax(-1).cumsum(-1).numpy()
    begins = np.where(ids > 0, ends[rows, ids - 1], 0.0)
    numbers = np.random.default_rng(request.sampling.seed).random(len(ids))
    return np.maximum(0, np.maximum(begins - numbers, numbers - ends[rows, ids]))


def mean(parts: Iterable[Any]) -> float:
    """Return the mean over all tokens of all texts."""
    return float(np.concatenate(list(parts)).mean())


def same_alone(alone: Engine, pairs: Sequence[tuple[Request, Completion]]) -> str:
    """Return how many of the texts are the same when they are written one at a time."""
    again = [completed(alone, [request])[0].token_ids for request, _ in pairs]
    same = sum(ids == found.token_ids for ids, (_, found) in zip(again, pairs, strict=True))
    return f"{same} of {len(pairs)}"


def tried(name: str, dtype: str, scale: Scale, folder: Path) -> Row:
    """Write and score with an architecture's checkpoint, and hold it against the reference."""
    began, requests = time.monotonic(), requests_of(scale)
    engine, alone = engine_of(folder, dtype), engine_of(folder, dtype, exact=True)
    texts = [
        ScoringRequest(f"s{n}", "d", str(n), ids, max(1, len(ids) - N_SCORED))
        for n, ids in enumerate(request.prompt.token_ids for request in requests)
    ]
    written, scored = completed(engine, requests), completed(engine, texts)
    errors = [found.error for found in (*written, *scored) if found.error]
    if errors:
        return Row(name, dtype, ("-", "-"), {}, 0, errors, time.monotonic() - began)
    kinds = [list(zip(requests[n::2], written[n::2], strict=True)) for n in (0, 1)]
    as_alone = [same_alone(alone, pairs[: scale.n_alone]) for pairs in kinds]
    reference, own = loaded(folder, "float32"), loaded(folder, dtype)
    expected = [scores_by(reference, text) for text in texts]
    greedy, sampled = (mean(tokens_off(reference, *pair) for pair in pairs) for pairs in kinds)
    scores = mean(abs(np.array(s.logprobs) - e) for s, e in zip(scored, expected, strict=True))
    rounding = mean(abs(scores_by(own, t) - e) for t, e in zip(texts, expected, strict=True))
    off = {"greedy tokens": greedy, "sampled tokens": sampled, "scores": scores}
    return Row(name, dtype, as_alone, off, rounding, (), time.monotonic() - began)


def tried_all(scale: Scale, names: Sequence[str], until: float) -> Iterator[Row | str]:
    """Yield a row for each architecture and number type, or why there is none."""
    for name in names:
        size = for_states(scale) if "linear_key_head_dim" in ARCHITECTURES[name][2] else scale
        if until - time.monotonic() < SPARE_SECONDS:
            yield f"{name}: not tried, no time was left"
            continue
        with TemporaryDirectory(prefix="userturn-") as folder:
            try:
                written_checkpoint(name, size, Path(folder))
                for dtype in DTYPES:
                    yield tried(name, dtype, size, Path(folder))
            except Exception as error:  # a driver may raise anything; the others are still worth it
                yield f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"


def pace(folder: Path, large: bool) -> str:
    """Return a line with the tokens a second of a model of 0.6B parameters, or a toy, in bfloat16.

    `generate` of transformers has the same prompts, padded on the left, 64 at a time.
    """
    scale = Scale(1024, 28, 151936, 128, 128, 320, 0) if large else ON_CPU
    heads = {"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128} if large else {}
    settings = transformers.Qwen3Config(**_sizes(scale, **heads, tie_word_embeddings=True))
    with device():
        model = transformers.Qwen3ForCausalLM(settings).to(torch.bfloat16).eval()
    model.save_pretrained(folder)
    asked = requests_of(scale, 7)
    engine = engine_of(folder, "bfloat16")
    completed(engine, asked[:4])  # the first pass compiles
    began = time.monotonic()
    ours = sum(len(c.token_ids) for c in completed(engine, asked)) / (time.monotonic() - began)
    _generated(model, asked[:4])
    began = time.monotonic()
    n_theirs = sum(_generated(model, asked[n : n + 64]) for n in range(0, len(asked), 64))
    theirs = n_theirs / (time.monotonic() - began)
    return (
        f"pace: {ours:,.0f} tokens/s, {ours / theirs:.2f} times those of generate() ({theirs:,.0f})"
    )


def _generated(model: Any, requests: Sequence[Request]) -> int:
    """Return the number of tokens that `generate` writes for the requests."""
    n_tokens, prompts = requests[0].sampling.max_tokens, [r.prompt.token_ids for r in requests]
    width = max(map(len, prompts))
    padded = [[0] * (width - len(ids)) + list(ids) for ids in prompts]
    seen = [[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts]
    inputs, mask = (torch.tensor(rows, device=device()) for rows in (padded, seen))
    bounds = {"max_new_tokens": n_tokens, "min_new_tokens": n_tokens, "pad_token_id": 0}
    drawn = {"do_sample": True, "temperature": HEAT, "top_k": 0}
    found = model.generate(inputs, attention_mask=mask, **bounds, **drawn)
    return int((found.shape[1] - width) * len(requests))


def machine() -> str:
    """Return a line that names the GPU, if there is one, and versions."""
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"{name}, PyTorch {torch.__version__}, transformers {transformers.__version__}"


def main(seconds: float, names: Sequence[str]) -> int:
    """Print machine, pace, the table and what is wrong; returns the exit code."""
    until = time.monotonic() + seconds
    has_gpu = torch.cuda.is_available()
    transformers.utils.logging.disable_progress_bar()
    # Convolutions take TF32 unless told otherwise, and float32 is to be float32 here.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    print(machine(), flush=True)
    with TemporaryDirectory(prefix="userturn-") as folder:
        print(pace(Path(folder), has_gpu), flush=True)
    faults = []
    for line in (COLUMNS, ("---",) * len(COLUMNS)):
        print(f"| {' | '.join(line)} |")
    for row in tried_all(ON_GPU if has_gpu else ON_CPU, names, until):
        if not isinstance(row, str):
            print(f"| {' | '.join(row.cells())} |", flush=True)
        faults += [row] if isinstance(row, str) else row.faults
    print("\n".join(f"WRONG: {fault}" for fault in faults) or "nothing is wrong")
    return int(bool(faults))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("names", nargs="*", choices=[[], *ARCHITECTURES], default=[])
    given = parser.parse_args()
    sys.exit(main(given.seconds, given.names or list(ARCHITECTURES)))
