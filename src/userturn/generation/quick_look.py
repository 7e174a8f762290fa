"""One model without a study: its checks, one answer and a few user turns, or its scores."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from userturn.config.formats import is_chat
from userturn.datasets.messages import ShownAnswer
from userturn.datasets.prepare import Item, prepare_dataset
from userturn.errors import UserError
from userturn.generation.ask_engine import GenerationRecord, to_record
from userturn.generation.describe_model import describe_model
from userturn.generation.load_model import LoadedModel, engine_of, load_model
from userturn.generation.plan_files import WHOLE
from userturn.generation.planner import Planned, Planner
from userturn.generation.reasoning import read_answer
from userturn.generation.scores import scores_of
from userturn.generation.sweep import complete_plans, request_runner, sweep_plans
from userturn.generation.sweep_plan import planner_of
from userturn.judges.heuristic import judge_by_words
from userturn.judges.verdict import Verdict
from userturn.models.requests import Engine
from userturn.processes import StopFlag
from userturn.sources.registry import asked
from userturn.sources.scores import HUMAN_TURNS, scores_path
from userturn.study.grid import Grid
from userturn.study.model_description import read_description

NONE = {"operator": "none"}
DRAWS = ((0.0, 1), (1.0, 3))  # temperatures of the user turns, and how many are drawn at each


def human_scores(config: Mapping[str, Any], model: str, dataset: str) -> pl.DataFrame:
    """Return a model's scores of the reference follow-ups of a dataset (`scores.SCORES_SCHEMA`).

    The dataset must be in the configuration's key `likelihood`.

    Raises:
        UserError: the model or the dataset is not available, the model is behind a chat API, or its
            prompts fail the checks.
    """
    with TemporaryDirectory(prefix="userturn-") as folder:
        grid = Grid(config, folder)
        if is_chat(grid.models[model]):
            raise UserError(
                f"model '{model}' is behind a chat API, which gives no likelihood of a text; name "
                "one that is loaded here, or a server of completions"
            )
        _, loaded = _loaded(grid, model)
        identity = grid.dataset_identity(dataset)
        prepare_dataset(grid.dataset_settings(dataset), identity, grid.dataset_path(dataset))
        scored = asked(grid)[scores_path(model, dataset, HUMAN_TURNS)]
        plans = sweep_plans(grid, loaded, WHOLE, {scored.identity}, folder)
        complete_plans(plans, request_runner(grid, loaded, WHOLE, StopFlag()))
        return pl.concat(scores_of(grid, scored))


def _loaded(grid: Grid, model: str) -> tuple[dict[str, Any], LoadedModel]:
    """Describe and load a model in a new results folder, and return its description and itself."""
    path = grid.results / "models" / f"{model}.json"
    path.parent.mkdir()
    describe_model(grid, model, path)
    description = read_description(grid, model)
    return description, load_model(grid, model, description)


@dataclass(frozen=True)
class QuickLook:
    """One model's answer to one question, and its user turns after it.

    Attributes:
        description: of the model, as `describe_model` writes it.
        prompt: the probe's texts: template text and message text in alternation.
        answer: the answer that the model was shown as its own.
        turns: pairs of a temperature and the record of a user turn drawn at it.
        verdicts: the heuristic judge's on each turn, None if the configuration has no such judge.
    """

    description: Mapping[str, Any]
    prompt: list[str]
    answer: str
    turns: list[tuple[float, GenerationRecord]]
    verdicts: list[Verdict | None]


def look(
    config: Mapping[str, Any], model: str, question: str, answer: str | None = None
) -> QuickLook:
    """Return what a model of a configuration answers to a question, and its user turns after that.

    A given answer is shown as the model's own. Without one, the model writes its answer.

    Raises:
        UserError: the model is not available, its prompts fail the checks, no prompt can be made
            for the question, or the model's answer cannot be used.
    """
    with TemporaryDirectory(prefix="userturn-") as folder:
        grid = Grid(config, folder)
        description, loaded = _loaded(grid, model)
        planner = planner_of(grid, loaded)
        engine = engine_of(grid, loaded, WHOLE)
        item = Item("question", ({"role": "user", "content": question},))
        own = None if answer is None else ShownAnswer(answer)
        shown = own or _answer(grid, loaded, planner, engine, item)
        literals, contents = loaded.template.probe_parts(item.messages, *shown)
        texts = [text for pair in zip(literals, [*contents, ""], strict=True) for text in pair]
        turns = list(_user_turns(grid, loaded, planner, engine, item, shown))
        entries = (entry for entry in grid.all_judges.values() if entry["kind"] == "heuristic")
        settings = next(entries, None)
        verdicts = [
            None
            if settings is None
            else judge_by_words(item.messages, shown.text, record["text"], settings)
            for _, record in turns
        ]
    return QuickLook(description, texts, shown.text, turns, verdicts)


def _answer(
    grid: Grid, model: LoadedModel, planner: Planner, engine: Engine, item: Item
) -> ShownAnswer:
    sampling = planner.sampling("assistant", grid.answer_settings(model.name))
    (record,) = _completed([planner.answer("look", 0, item, sampling)], model, engine)
    prompt = model.template.answer_prompt(item.messages).text
    answer = read_answer(record["text"], prompt, record["token_ids"], model.template.answer_layout)
    reason = record["error"] or answer.error
    if reason is not None:
        raise UserError(f"the model's answer cannot be used: {reason}")
    return model.template.answer_layout.shown(*answer[:2])


def _user_turns(
    grid: Grid, model: LoadedModel, planner: Planner, engine: Engine, item: Item, shown: ShownAnswer
) -> Iterator[tuple[float, GenerationRecord]]:
    probe = planner.probe(item, shown, NONE)
    planned, temperatures = [], []
    for temperature, n_samples in DRAWS:
        sampling = planner.sampling("user", grid.user_turn_settings(temperature))
        for sample in range(n_samples):
            planned.append(planner.user_turn("look", 0, item.id, sample, probe, sampling))
            temperatures.append(temperature)
    yield from zip(temperatures, _completed(planned, model, engine), strict=True)


def _completed(
    planned: list[Planned], model: LoadedModel, engine: Engine
) -> list[GenerationRecord]:
    """Return the records of planned requests, in their order."""
    refused = next((row.error for row in planned if row.request is None), None)
    if refused is not None:
        raise UserError(f"no prompt can be made for this question: {refused}")
    requests = [row.request for row in planned if row.request is not None]
    done = {request.key: completion for request, completion in filter(None, engine(requests))}
    records = {r.key: to_record(r, done[r.key], model.template) for r in requests}
    return [records[request.key] for request in requests]
