"""Choose what a sweep scores: reference follow-ups, the model's own turns, its candidates."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from userturn.config.entries import likelihood_settings
from userturn.datasets.messages import ShownAnswer
from userturn.datasets.prepare import rank, read_items
from userturn.generation.collect import shown_samples
from userturn.generation.likelihood_contexts import (
    NO_ANSWER,
    PROMPT,
    Context,
    Exchange,
    draw_distractors,
    ending_of,
    human_contexts,
    human_exchanges,
    own_contexts,
)
from userturn.generation.plan_files import plan_paths
from userturn.generation.scoring_plan import TurnToScore
from userturn.generation.shards import is_in_shard
from userturn.prompts.answer_form import AnswerForm
from userturn.sources.answers import answers_path
from userturn.sources.candidates import read_reactions, table_path
from userturn.sources.job import named
from userturn.sources.registry import asked, turns_to_score_by_name
from userturn.sources.scores import has_endings, n_own_distractors
from userturn.sources.source import ANSWERS, USER_TURNS, Asked
from userturn.storage.journal_table import Journal, read_outcomes
from userturn.study.asks import journal_of, scan_plans
from userturn.study.cells import Cell
from userturn.study.grid import Grid
from userturn.study.inputs import REACTIONS as REACTIONS_FILE
from userturn.study.model_description import last_description


def turns_to_score(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield the turns of a table that a shard scores; a model's own are read from its journal."""
    found: Iterator[TurnToScore] = named(turns_to_score_by_name()[scored.name])(grid, scored, shard)
    return found


def human_turns(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield the reference follow-ups of a dataset that a shard scores."""
    settings = likelihood_settings(grid.config) or {}
    exchanges = human_exchanges(pl.read_parquet(grid.dataset_path(scored.dataset)))
    drawn = draw_distractors(exchanges, settings["distractors"], grid.config["seed"])
    for exchange in exchanges:
        if is_in_shard(exchange.item, shard):
            ended = [ending_of(exchange)] if has_endings(grid.config) else []
            contexts = human_contexts(exchange, drawn[exchange.item])
            yield TurnToScore(exchange, [*contexts, *ended], {})


def own_turns(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield a sample of the model's own turns, of the same items in every cell.

    Each turn's own context is the item with the model's unperturbed answer; the distractors are the
    model's answers to other items of the shard. How likely a turn ends at once is scored before
    them, after the answers that no perturbation changed.
    """
    settings = likelihood_settings(grid.config) or {}
    model, dataset, seed = scored.model, scored.dataset, grid.config["seed"]
    answered = _answered(grid, model, dataset, shard)
    drawn = _own_distractors(grid, answered)
    names = pl.read_parquet(grid.dataset_path(dataset), columns=["item"])["item"]
    sample = sorted(names, key=lambda item: rank(seed, item))[: settings["turns"]]
    cells = grid.cells_of[model, dataset]
    asked_about = [item for item in sample if item in answered]
    for item in asked_about if has_endings(grid.config) else ():
        yield TurnToScore(answered[item], [ending_of(answered[item])], {})
    texts = _texts(grid, cells, shard, asked_about)
    for item, cell, text in texts.iter_rows():
        exchange = replace(answered[item], turn=text)
        place = {
            "temperature": grid.temperatures[cells[cell].temperature],
            "perturbation": cells[cell].perturbation,
            "sample": 0,
        }
        yield TurnToScore(exchange, own_contexts(exchange, drawn[item]), place)


def reactions(grid: Grid, scored: Asked, shard: str) -> Iterator[TurnToScore]:
    """Yield each candidate of a shard after its prompt, and the turns after it.

    These are the fixed ones, and the one that the model wrote, whose distractors are those of the
    item's first answer. A candidate without text has none.
    """
    model, dataset, texts = scored.model, scored.dataset, read_reactions(REACTIONS_FILE)
    shown = _shown(grid, asked(grid)[table_path(model, dataset, ANSWERS)], shard)
    prompts = {item.id: item.messages for item in read_items(grid.dataset_path(dataset))}
    written: dict[tuple[str, int], str] = {}
    drawn: dict[str, list[Exchange]] = {}
    if n_own_distractors(grid.config):
        written = _after_candidates(
            grid, asked(grid)[table_path(model, dataset, USER_TURNS)], shard
        )
        drawn = _own_distractors(grid, _answered(grid, model, dataset, shard))
    for (item, sample), answer in shown.items():
        if answer is None or not answer.text.strip():
            continue
        place, prompt = {"sample": sample}, prompts[item]
        said = Exchange(item, prompt, NO_ANSWER, answer.text)
        yield TurnToScore(said, [Context(PROMPT, None, prompt, NO_ANSWER)], place)
        for name, text in texts.items():
            context = Context(name, None, prompt, answer)
            yield TurnToScore(Exchange(item, prompt, answer, text), [context], place)
        if (turn := written.get((item, sample))) and drawn.get(item):
            own = Exchange(item, prompt, answer, turn)
            yield TurnToScore(own, own_contexts(own, drawn[item]), place)


def _shown(grid: Grid, answers: Asked, shard: str) -> dict[tuple[str, int], ShownAnswer | None]:
    """Return the answers of a shard's items by item and sample; None where there is none."""
    model, dataset = answers.model, answers.dataset
    paths = plan_paths(grid, model, dataset, answers.identity, shard)
    form = AnswerForm.of(last_description(grid, model))
    shown = shown_samples(paths, journal_of(grid, model, dataset, paths), form)
    return {place: text for place, text in shown.items() if is_in_shard(place[0], shard)}


def _own_distractors(grid: Grid, answered: Mapping[str, Exchange]) -> dict[str, list[Exchange]]:
    """Return the distractors of the model's turns after each answered item, by item."""
    n_distractors = n_own_distractors(grid.config)
    return draw_distractors(list(answered.values()), n_distractors, grid.config["seed"])


def _after_candidates(grid: Grid, turns: Asked, shard: str) -> dict[tuple[str, int], str]:
    """Return the text of the turn after each candidate by item and sample."""
    paths = plan_paths(grid, turns.model, turns.dataset, turns.identity, shard)
    plan = pl.read_parquet(paths, columns=["key", "item", "sample"])
    journal = journal_of(grid, turns.model, turns.dataset, paths)
    found = _written(journal, plan).select("item", "sample", "text")
    return {(item, sample): text for item, sample, text in found.iter_rows()}


def _answered(grid: Grid, model: str, dataset: str, shard: str) -> dict[str, Exchange]:
    """Return the exchanges of a shard's items that the model has answered, without a turn."""
    shown = _shown(grid, asked(grid)[answers_path(model, dataset)], shard)
    return {
        item.id: Exchange(item.id, item.messages, answer, "")
        for item in read_items(grid.dataset_path(dataset))
        if (answer := shown.get((item.id, 0))) and answer.text.strip()
    }


def _texts(grid: Grid, cells: list[Cell], shard: str, items: list[str]) -> pl.DataFrame:
    """Return the first turn of some items in some cells: columns item, cell number and text."""
    asked = [
        scan_plans(plan_paths(grid, c.model, c.dataset, grid.cell_identity(c), shard))
        .filter(pl.col("item").is_in(items), pl.col("sample") == 0)
        .select("key", "item", "position", cell=pl.lit(number))
        for number, c in enumerate(cells)
    ]
    plan = pl.concat(asked).collect().unique(["item", "cell"], maintain_order=True)
    model, dataset = cells[0].model, cells[0].dataset
    paths = [
        path
        for c in cells
        for path in plan_paths(grid, model, dataset, grid.cell_identity(c), shard)
    ]
    written = _written(journal_of(grid, model, dataset, paths), plan)
    return written.sort("position", "cell").select("item", "cell", "text")


def _written(journal: Journal, plan: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a plan of turns that have a text, with it."""
    outcomes = read_outcomes(journal, plan["key"], ["key", "outcome", "text"])
    return plan.join(outcomes.filter(pl.col("outcome") == "ok"), on="key")
