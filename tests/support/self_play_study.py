"""A tiny study with self-play, whose engine says which turn of which item it writes."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support.collected import ask_pending, collect_answers, collect_user_turns
from tests.support.tiny_grid import tiny_grid
from userturn.generation.ask_engine import RequestRunner
from userturn.generation.collect import collect_table
from userturn.generation.load_model import load_model
from userturn.generation.self_play import collect_self_play
from userturn.generation.sweep import request_runner
from userturn.judges.judge import judge_cell
from userturn.models.requests import AnyRequest, Completion, Request, ScoringRequest, scores
from userturn.processes import StopFlag
from userturn.sources.registry import asked
from userturn.sources.self_play import SOURCE, Depth, depths
from userturn.sources.source import SCORES
from userturn.study.grid import Grid
from userturn.study.judge import judge_of
from userturn.study.model_description import read_description
from userturn.workflow.pending import Pending

MODEL, DATASET = "tiny", "items"
WRITTEN = ("conversations", "answers", "user_turns")
Faults = Mapping[
    tuple[str, int], str
]  # `empty` or `error` instead of a user turn, by item and depth


class Talking:
    """An engine that numbers what it writes by depth: `Answer 1 to x.`, `Question 1 of x?`."""

    def __init__(self, tokenizer: Any, faults: Faults) -> None:
        self.tokenizer = tokenizer
        self.faults = faults
        self.asked: list[Request] = []
        self.scored: list[str] = []

    def score(self, request: ScoringRequest) -> Completion:
        """Give each token -1 nat after the item's own answer and -3 after another's."""
        context = self.tokenizer.decode(request.token_ids[: request.n_context])
        before = context.rpartition("<|im_start|>assistant\n")[2]
        n = len(request.token_ids) - request.n_context
        return scores([-1.0 if f" to {request.item}." in before else -3.0] * n)

    def __call__(self, requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion]]:
        for request in requests:
            if isinstance(request, ScoringRequest):
                self.scored.append(request.item)
                yield request, self.score(request)
                continue
            self.asked.append(request)
            prompt = request.prompt.text
            depth = prompt.count("<|im_start|>assistant")
            fault = None
            if prompt.endswith("assistant\n"):
                text = f"Answer {depth} to {request.item}."
            else:
                text = f"Question {depth} of {request.item}?"
                fault = self.faults.get((request.item, depth))
            ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]
            said = () if fault else tuple(ids)
            error = "the engine failed" if fault == "error" else None
            stop = request.sampling.stop_token_ids[0]
            yield request, Completion((*said, stop), "error" if error else "stop", error)


def study(folder: Path, n_turns: int, n_items: int = 4, **changes: Any) -> Grid:
    """Return a grid with self-play of `n_turns` turns; its results are below `folder`."""
    run = {"temperatures": [0], "perturbations": ["none"], "judges": ["heuristic"]}
    changes = {"run": run, "max_error_share": 1} | changes
    return tiny_grid(folder, n_items, self_play={"turns": n_turns}, **changes)


def sweep(grid: Grid, shard: str = "1of1", faults: Faults | None = None) -> Talking:
    """Ask all pending requests of a study, and return the engine that was asked."""
    model = load_model(grid, MODEL, read_description(grid, MODEL))
    engine = Talking(model.template.tokenizer, faults or {})
    runner: RequestRunner = request_runner(grid, model, shard, StopFlag())
    runner.load = lambda: engine  # type: ignore[misc]
    pending = Pending(grid).identities(MODEL)
    ask_pending(grid, model, shard, pending, runner)
    return engine


def collect(grid: Grid) -> None:
    """Collect and judge everything that was swept, as the rules do."""
    answers = str(grid.results / "answers" / MODEL / f"{DATASET}.parquet")
    collect_answers(grid, MODEL, DATASET, answers)
    for cell in grid.cells:
        folder = grid.results / "cells" / cell.folder
        collect_user_turns(grid, cell, str(folder / "user_turns.parquet"))
        _judge(grid, folder, grid.dataset_path(DATASET))
    for at in depths(grid):
        folder, before = grid.results / at.folder, at.previous
        collect_self_play(
            grid,
            [asked(grid)[path] for path in (at.path_to_answers, at.path_to_user_turns)],
            [place(grid, before.path_to_conversations), place(grid, before.path_to_user_turns)],
            *(
                str(folder / f"{name}.parquet")
                for name in ("conversations", "answers", "user_turns")
            ),
        )
        _judge(grid, folder, folder / "conversations.parquet")
    for path, of in asked(grid).items():
        if of.kind == SCORES:
            collect_table(grid, of, place(grid, path))


def _judge(grid: Grid, folder: Path, path_to_items: Path) -> None:
    turns, verdicts = folder / "user_turns.parquet", folder / "verdicts" / "heuristic.parquet"
    judge_cell(judge_of(grid, "heuristic"), "x", 0, str(path_to_items), str(turns), str(verdicts))


def place(grid: Grid, path: str) -> str:
    """Return where a file of a study is, from its path in rules."""
    return str(grid.results / path.removeprefix("results/"))


def at_depth(grid: Grid, depth: int) -> Depth:
    """Return a depth of the study's only conversations."""
    (temperature,) = grid.temperatures
    return Depth(MODEL, DATASET, temperature, depth)


def paths(grid: Grid) -> dict[str, list[str]]:
    """Return the inputs of the table of self-play, where they are."""
    inputs = {name: of(grid) for name, of in SOURCE.inputs.items()}
    return {name: [place(grid, path) for path in found] for name, found in inputs.items()}
