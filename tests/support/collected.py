"""Tables of one model and dataset, or of one cell, collected by their names."""

from collections.abc import Callable, Iterable, Iterator
from tempfile import TemporaryDirectory

from userturn.generation.ask_engine import Runner
from userturn.generation.collect import collect_table
from userturn.generation.load_model import LoadedModel, load_model
from userturn.generation.sweep import complete_plans, request_runner, sweep_plans
from userturn.models.requests import AnyRequest, Completion, Request, ScoringRequest, scores
from userturn.processes import StopFlag
from userturn.sources.answers import answers_path
from userturn.sources.registry import asked
from userturn.study.cells import Cell, files_of
from userturn.study.grid import Grid
from userturn.study.model_description import read_description


def collect_answers(grid: Grid, model: str, dataset: str, path: str) -> None:
    """Write a model's answers to a dataset."""
    collect_table(grid, asked(grid)[answers_path(model, dataset)], path)


def collect_user_turns(grid: Grid, cell: Cell, path: str) -> None:
    """Write the user turns of a cell."""
    collect_table(grid, asked(grid)[files_of([cell], "user_turns.parquet")[0]], path)


def ask_pending(
    grid: Grid, model: LoadedModel, shard: str, pending: Iterable[str], runner: Runner
) -> None:
    """Plan and complete what is pending, as a sweep does."""
    with TemporaryDirectory() as scratch:
        complete_plans(sweep_plans(grid, model, shard, pending, scratch), runner)


def swept(
    grid: Grid, name: str, shard: str, pending: Iterable[str], says: Callable[[Request], str]
) -> list[AnyRequest]:
    """Do what a sweep does with a model that `says` a text; return what it was asked.

    Every token that it scores is e⁻¹ likely.
    """
    model = load_model(grid, name, read_description(grid, name))
    asked: list[AnyRequest] = []

    def engine(requests: Iterable[AnyRequest]) -> Iterator[tuple[AnyRequest, Completion]]:
        for request in requests:
            asked.append(request)
            if isinstance(request, ScoringRequest):
                yield request, scores([-1.0] * (len(request.token_ids) - request.n_context))
                continue
            ids = model.template.tokenizer(says(request), add_special_tokens=False)["input_ids"]
            yield request, Completion((*ids, request.sampling.stop_token_ids[0]), "stop")

    runner = request_runner(grid, model, shard, StopFlag())
    runner.load = lambda: engine  # type: ignore[assignment,return-value]
    ask_pending(grid, model, shard, pending, runner)
    assert runner.n_in_journal + runner.n_asked >= len(asked) == runner.n_asked
    return asked
