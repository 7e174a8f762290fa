"""Run a study of each tiny architecture in an engine, and print what came of it as a table.

    python benchmarks/architectures.py [--engine vllm] [ARCHITECTURE ...]

Each is described, swept at two temperatures and two perturbations with prefix caching, and scored,
in a process of its own. What it wrote is asked again alone, and held against one forward pass of
transformers in a further process, which no engine has touched.
"""

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_architectures import ARCHITECTURES, write_architecture
from userturn.datasets.prepare import prepare_dataset
from userturn.errors import UserError
from userturn.generation import sweep
from userturn.generation.describe_model import describe_model
from userturn.models import engine as engines
from userturn.models.scoring import ScoringRequest
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending

# vLLM's kernel for linear attention on a CPU takes no float32.
BFLOAT16 = ("qwen3.5", "qwen3.5-moe", "qwen 3 next", "kimi linear")
N_ALONE, PATIENCE = 12, 900.0  # requests that are written again alone; seconds of one architecture
NEAR = {"float32": 0.002, "bfloat16": 0.25}  # nats that a score may be off, on average
FILES = {"items": "word_problems", "follow-ups": "follow_ups"}


def study(folder: Path, engine: str, dtype: str) -> dict[str, Any]:
    """Return the configuration of a small study of one model."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    own = {"source": str(folder), "dtype": dtype, "gpus": 0, "max_model_len": 1024}
    paths = {name: str(ROOT / f"data/demo/{file}.jsonl") for name, file in FILES.items()}
    prompts = {"id": "id", "prompt": "question", "reference": "answer"}
    items = {"file": paths["items"], "fields": prompts, "verifier": "none", "limit": 4}
    turns = {"file": paths["follow-ups"], "fields": {"id": "id", "messages": "messages"}}
    turns |= {"verifier": "none", "condition": "gold_context", "limit": 4}
    config["controls"]["human"] = []
    config["answer"] |= {"max_tokens": 8, "temperature": 0.0}
    config["user_turn"] |= {"max_tokens": 24}
    return config | {
        "models": {"tiny": own},
        "datasets": {"items": items, "follow-ups": turns},
        "likelihood": {"datasets": ["follow-ups"], "turns": 2, "distractors": 2},
        "run": {"temperatures": [0, 0.7], "perturbations": ["none", "truncate"]},
        "engine": engine,
        "max_error_share": 1,
    }


def swept(folder: Path, results: Path, engine: str, dtype: str) -> dict[str, Any]:
    """Run the study, and return what its engine wrote and scored, or why it was refused."""
    seen: list[tuple[Any, Any]] = []
    held: list[Any] = []
    load = engines.LOADERS[engine]

    def loaded(folder: Path, settings: Mapping[str, Any]) -> Any:
        held.append(load(folder, settings))

        def generate(requests: Any) -> Iterator[Any]:
            for done in held[0](requests):
                seen.extend([done] if done is not None else [])
                yield done

        return generate

    engines.LOADERS[engine] = loaded
    grid = Grid(study(folder, engine, dtype), results)
    try:
        for name in FILES:
            settings, identity = grid.dataset_settings(name), grid.dataset_identity(name)
            prepare_dataset(settings, identity, grid.dataset_path(name))
        describe_model(grid, "tiny", grid.results / "models" / "tiny.json")
        marker = grid.results / "sweeps" / "marker.json"
        sweep.run_sweep(grid, "tiny", "1of1", Pending(grid).identities("tiny"), 2, marker)
    except UserError as error:
        return {"refused": str(error).replace(str(folder), "FOLDER")}
    texts = [(q, c) for q, c in seen if not isinstance(q, ScoringRequest)]
    scores = [(q, c) for q, c in seen if isinstance(q, ScoringRequest)]
    again = {q.key: c for q, _ in texts[:N_ALONE] for q, c in filter(None, held[0]([q]))}
    return {
        "n_errors": sum(getattr(c, "error", None) is not None for _, c in seen),
        "texts": [
            [*map(list, (q.prompt.token_ids, c.token_ids)), q.sampling.temperature]
            for q, c in texts
        ],
        "alone": [again[q.key].token_ids == c.token_ids for q, c in texts[:N_ALONE]],
        "scores": [[list(q.token_ids), q.n_context, list(c.logprobs)] for q, c in scores],
    }


def compared(folder: Path, wrote: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """Return how far the engine's greedy tokens and scores are from one pass of transformers."""
    import torch
    import transformers

    from userturn.models.whole_model import class_for

    kind = class_for(folder, {})
    model = kind.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    transformers.logging.set_verbosity_error()

    def likelihoods(ids: list[int]) -> Any:
        with torch.inference_mode():
            logits = model(torch.tensor([ids]), use_cache=False).logits[0]
        return logits.float().log_softmax(-1)

    gaps, off = [], []
    for prompt, ids, temperature in wrote["texts"][:20]:
        rows = likelihoods(prompt + ids)[len(prompt) - 1 : -1]
        if temperature == 0:
            gaps += [float(r.max() - r[i]) for r, i in zip(rows, ids, strict=True)]
    for ids, n_context, found in wrote["scores"][:20]:
        rows = likelihoods(ids)[n_context - 1 : -1]
        off += [abs(float(r[i]) - s) for r, i, s in zip(rows, ids[n_context:], found, strict=True)]
    return {"gap": max(gaps, default=0.0), "off": sum(off) / max(1, len(off))}


def in_a_process(work: Callable[[], dict[str, Any]], log: Path) -> dict[str, Any]:
    """Return what a function returns in a process of its own, or how that ended."""
    answer = log.with_suffix(".json")
    child = os.fork()
    if child == 0:
        with log.open("w") as file:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            try:
                answer.write_text(json.dumps(work()))
            except BaseException:
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(0)
    deadline = time.monotonic() + PATIENCE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, 9)
            os.waitpid(child, 0)
            return {"failed": f"not done in {PATIENCE:.0f} s"}
        time.sleep(0.2)
    if answer.is_file():
        found: dict[str, Any] = json.loads(answer.read_text())
        return found
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return {"failed": lines[-1] if lines else "it ended without a word"}


def tried(name: str, engine: str, folder: Path) -> dict[str, Any]:
    """Return what came of one architecture in an engine."""
    dtype = "bfloat16" if engine == "vllm" and name in BFLOAT16 else "float32"
    model, log = folder / "model", folder / "log.txt"
    in_a_process(lambda: {"made": str(write_architecture(name, model))}, folder / "made.txt")
    wrote = in_a_process(lambda: swept(model, folder / "results", engine, dtype), log)
    row = {"architecture": name, "dtype": dtype}
    if "texts" not in wrote:
        return row | wrote
    reference = in_a_process(lambda: compared(model, wrote, dtype), folder / "reference.txt")
    numbers = {"texts": len(wrote["texts"]), "scores": len(wrote["scores"])}
    alone = f"{sum(wrote['alone'])} of {len(wrote['alone'])}"
    return row | numbers | {"errors": wrote["n_errors"], "alone": alone} | reference


def verdict(row: Mapping[str, Any]) -> str:
    """Return `right`, `wrong`, or the reason of a refusal."""
    if "refused" in row or "failed" in row:
        return str(row.get("refused") or f"failed: {row['failed']}")
    near = NEAR[row["dtype"]]
    is_right = not row["errors"] and row["texts"] and row["scores"] and row["off"] < near
    return "right" if is_right and row["gap"] < 10 * near else "wrong"


def line(row: Mapping[str, Any]) -> str:
    """Return a row as a line of a table in Markdown."""
    cells = [row["architecture"], row["dtype"], verdict(row)]
    if "off" in row:
        cells += [f"{row['texts']}, {row['scores']}", row["alone"], f"{row['off']:.5f}"]
    return f"| {' | '.join(cells + [''] * (6 - len(cells)))} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", choices=sorted(engines.LOADERS), default="transformers")
    parser.add_argument("architectures", nargs="*", default=ARCHITECTURES)
    given = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import torch
    import transformers  # noqa: F401  imported once, before each process of its own

    torch.set_num_threads(1)
    if given.engine == "vllm":
        import vllm.platforms  # noqa: F401
    print("| architecture | number type | outcome | texts, scores | as alone | scores off |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in given.architectures:
        with TemporaryDirectory() as folder:
            print(line(tried(name, given.engine, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
