"""What scoring adds to its engine: planning, journalling and gathering of every scored request.

From the project's folder: `python benchmarks/scoring.py --items 500 5000`. So many made-up human
follow-ups are scored by the demo's model with four distractors, ten requests each. The engine
`instant` says the same of every token at once, so that all that is measured is ours. With
`--engine vllm` the same requests go through the sweep and through a bare `LLM.generate` with
`prompt_logprobs`, and tokens of prefill a second are printed beside. Every part runs in a process
of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from benchmarks.sweeping import LINE, SOURCE, Clock, loaded_model
from userturn.config.load import load_config
from userturn.datasets.prepare import prepare_dataset
from userturn.generation.collect import collect_table
from userturn.generation.describe_model import describe_model
from userturn.generation.plan_files import WHOLE
from userturn.generation.sweep import request_runner, sweep_plans
from userturn.models.fetch import model_folder
from userturn.models.requests import Completion, Engine, ScoringRequest, scores
from userturn.models.vllm import (
    CPU_BATCHED_TOKENS,
    CPU_SETTINGS,
    VLLM_ENVIRONMENT,
    scoring_parameters,
)
from userturn.processes import StopFlag
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS, scores_path
from userturn.sources.source import Asked
from userturn.study.grid import Grid

SCORED = ("smollm2-135m", "d", HUMAN_TURNS)
FARM = "Case {}. A farmer has {} hens, each lays 2 eggs a day. How many eggs in a week?"
ANSWER = "Each of the {} hens lays 14 eggs a week, so case {} has {} eggs. Shall I go on?"
PADDING = " Count them again."  # so that answers differ in length, as they do
FOLLOW_UP = "And how many would {} more hens lay in {} weeks?"


def scored(grid: Grid) -> Asked:
    """Return the table of scores of the study."""
    return asked(grid)[scores_path(*SCORED)]


def grid_of(folder: Path) -> Grid:
    """Return the grid of a study that scores the reference follow-ups of one dataset."""
    config = load_config(["config.yaml"])
    fields = {"id": "id", "messages": "messages"}
    path = str(folder / "items.jsonl")
    entry = {"file": path, "fields": fields, "verifier": "none", "condition": "gold_context"}
    config["models"], config["datasets"] = {"smollm2-135m": LINE}, {"d": entry}
    config["run"] = {"temperatures": [0], "perturbations": ["none"], "judges": ["heuristic"]}
    config["controls"]["human"] = []
    config["likelihood"] = {"datasets": ["d"], "turns": 0, "distractors": 4}
    config["answer"]["max_tokens"], config["user_turn"]["max_tokens"] = 96, 40
    config["vllm"]["max_num_seqs"] = 128
    return Grid(config, folder / "results")


def prepare(grid: Grid, given: argparse.Namespace) -> None:
    """Write so many conversations and describe the model."""
    lines = []
    for i in range(given.items[0]):
        n = i % 90 + 2
        said = [
            FARM.format(i, n),
            ANSWER.format(n, i, 14 * n) + PADDING * (i % 20),
            FOLLOW_UP.format(n, i % 7 + 2),
        ]
        roles = ("user", "assistant", "user")
        messages = [{"role": r, "content": text} for r, text in zip(roles, said, strict=True)]
        lines.append(json.dumps({"id": f"i{i}", "messages": messages}) + "\n")
    (given.folder / "items.jsonl").write_text("".join(lines))
    prepare_dataset(grid.dataset_settings("d"), grid.dataset_identity("d"), grid.dataset_path("d"))
    describe_model(grid, SCORED[0], grid.results / "models" / f"{SCORED[0]}.json")


def instant(
    requests: Iterable[ScoringRequest],
) -> Iterator[tuple[ScoringRequest, Completion] | None]:
    """Say at once that every token has the same likelihood."""
    for request in requests:
        yield request, scores([-1.5] * (len(request.token_ids) - request.n_context))


def sweep(grid: Grid, given: argparse.Namespace) -> None:
    """Plan and journal all scores, and print what each takes."""
    loaded = loaded_model(grid)
    runner, clock = request_runner(grid, loaded, WHOLE, StopFlag()), Clock()
    planning = sweep_plans(grid, loaded, WHOLE, {scored(grid).identity}, str(grid.results))
    plans = list(planning.plans([scored(grid)]))
    clock.show("plan: a request", tokens(grid)[0])
    load = runner.load

    def engine() -> Engine:
        found = instant if given.engine == "instant" else load()
        clock.show("model loaded", 1)
        return found  # type: ignore[return-value]

    runner.load = engine
    runner.complete("scores", plans)
    wall = time.monotonic() - clock.wall
    clock.show("score and journal: a request", runner.n_asked)
    print(f"sweep: {tokens(grid)[1] / wall:,.0f} tokens of prefill a second", flush=True)


def gather(grid: Grid, given: argparse.Namespace) -> None:
    """Gather the scores from the journal, and print what each takes."""
    clock, path = Clock(), grid.results / scores_path(*SCORED).removeprefix("results/")
    collect_table(grid, scored(grid), str(path))
    clock.show("gathering: a request", tokens(grid)[0])


def plan_of(grid: Grid) -> Path:
    """Return the path of the plan of all scores."""
    folder = grid.requests_folder(SCORED[0], SCORED[1], scored(grid).identity)
    return folder / "1of1.parquet"


def tokens(grid: Grid) -> tuple[int, int]:
    """Return the number of different requests of the plan, and of all their tokens."""
    keys = pl.scan_parquet(plan_of(grid)).select("key", n=pl.col("token_ids").list.len())
    found = keys.unique("key").collect()
    return found.height, int(found["n"].sum())


def bare(grid: Grid, given: argparse.Namespace) -> None:
    """Print what a bare `LLM.generate` takes for the same requests, with the same settings."""
    os.environ.update(VLLM_ENVIRONMENT)
    from vllm import LLM

    settings = grid.config["vllm"] | CPU_SETTINGS | {"max_num_batched_tokens": CPU_BATCHED_TOKENS}
    settings |= {"dtype": LINE["dtype"], "max_model_len": LINE["max_model_len"]}
    model = LLM(model=str(model_folder(SOURCE)), skip_tokenizer_init=True, **settings)
    plan = pl.read_parquet(plan_of(grid)).unique("key", maintain_order=True)
    prompts = [{"prompt_token_ids": ids} for ids in plan["token_ids"].to_list()]
    clock = Clock()
    model.generate(prompts, scoring_parameters(), use_tqdm=False)
    wall = time.monotonic() - clock.wall
    clock.show("bare: a request", len(prompts))
    print(f"bare: {tokens(grid)[1] / wall:,.0f} tokens of prefill a second", flush=True)


PARTS = {"prepare": prepare, "sweep": sweep, "gather": gather, "bare": bare}


def main(given: argparse.Namespace) -> None:
    """Print a table of every part for each number of follow-ups."""
    print("what | how many | CPU s | ms each | wall s | most MB")
    for n in given.items:
        with tempfile.TemporaryDirectory() as folder:
            for part in PARTS if given.engine == "vllm" else list(PARTS)[:-1]:
                about = ["--part", part, "--folder", folder, "--items", str(n)]
                subprocess.run([sys.executable, *sys.argv, *about], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--engine", choices=["instant", "vllm"], default="instant")
    parser.add_argument("--part", choices=PARTS, help="run this one alone")
    parser.add_argument("--folder", type=Path, help="of the study that the part is about")
    given = parser.parse_args()
    if given.part:
        PARTS[given.part](grid_of(given.folder), given)
    else:
        main(given)
