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
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from userturn.models.requests import ScoringRequest
from userturn.study.grid import Grid
from userturn.workflow.pending import Pending

# vLLM's kernel for linear attention on a CPU takes no float32.
BFLOAT16 = ("qwen3.5", "qwen3.5-moe", "qwen 3 next", "kimi linear")
N_ALONE, PATIENCE = 12, 900.0  # requests that are written again alone; seconds of one architecture
NEAR = 0.002  # nats that a score may be off, on average, where nothing is rounded
TIMES = 1.5  # as far off as transformers' own scores in bfloat16, where all is
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
    """Return how far the engine's greedy tokens and scores are from one pass in float32.

    And how far those of one pass of transformers in the engine's own number type are.
    """
    import torch
    import transformers

    from userturn.models.whole_model import class_for

    transformers.logging.set_verbosity_error()
    kind, rows = class_for(folder, {}), {}
    greedy = [(p + t, len(p)) for p, t, heat in wrote["texts"][:20] if heat == 0]
    scored = [(ids, n) for ids, n, _ in wrote["scores"][:20]]
    for name in {"float32", dtype}:
        model = kind.from_pretrained(folder, dtype=getattr(torch, name)).eval()
        with torch.inference_mode():
            rows[name] = [
                model(torch.tensor([ids]), use_cache=False).logits[0, n - 1 : -1].float()
                for ids, n in greedy + scored
            ]
    exact, own = ([row.log_softmax(-1) for row in rows[name]] for name in ("float32", dtype))
    texts = [ids[n:] for ids, n in greedy + scored]
    likeliest = [row.argmax(-1).tolist() for row in own]
    n = len(greedy)
    found = [list(logprobs) for _, _, logprobs in wrote["scores"][:20]]
    return {
        "gap": _gap(exact[:n], texts[:n]),
        "own_gap": _gap(exact[:n], likeliest[:n]),
        "off": _apart(found, _likelihoods(exact[n:], texts[n:])),
        "own_off": _apart(*(_likelihoods(part[n:], texts[n:]) for part in (own, exact))),
    }


def _likelihoods(rows: Sequence[Any], texts: Sequence[list[int]]) -> list[list[float]]:
    """Return the log-likelihood of each token of each text."""
    return [
        r.gather(1, r.new_tensor(t).long()[:, None])[:, 0].tolist()
        for r, t in zip(rows, texts, strict=True)
    ]


def _gap(rows: Sequence[Any], texts: Sequence[list[int]]) -> float:
    """Return how far the likeliest token is at most above the one that was written."""
    likeliest = [row.max(-1).values.tolist() for row in rows]
    pairs = zip(likeliest, _likelihoods(rows, texts), strict=True)
    return max((a - b for both in pairs for a, b in zip(*both, strict=True)), default=0.0)


def _apart(one: list[list[float]], other: list[list[float]]) -> float:
    """Return the mean absolute difference of two engines' scores."""
    pairs = [p for a, b in zip(one, other, strict=True) for p in zip(a, b, strict=True)]
    return sum(abs(a - b) for a, b in pairs) / max(1, len(pairs))


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
    is_whole = not row["errors"] and row["texts"] and row["scores"]
    is_near = row["off"] < max(NEAR, TIMES * row["own_off"])
    is_right = is_whole and is_near and row["gap"] < max(10 * NEAR, TIMES * row["own_gap"])
    return "right" if is_right else "wrong"


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
