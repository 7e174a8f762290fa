"""How large a study is: its datasets, what each model is asked for, and how often each judge."""

import json
from collections.abc import Iterable, Mapping

import polars as pl

from userturn.config.entries import EVERY_LANGUAGE
from userturn.datasets.messages import answer_to
from userturn.datasets.prepare import fetched, items_table
from userturn.generation.likelihood_contexts import human_exchanges
from userturn.sources.registry import asked_of, judged
from userturn.sources.source import CHARACTERS_PER_TOKEN, Load, Size, requests
from userturn.storage.files import read_identity
from userturn.study.grid import Grid

TOKENS_OF_AN_UNSEEN_ITEM = 250
CRITERIA_OF_AN_UNSEEN_ITEM = 12  # assumed for a dataset with rubrics until its rows are here


def dataset_sizes(grid: Grid) -> dict[str, Size]:
    """Return the size of each dataset of a study, those of controls and likelihood included.

    Raises:
        UserError: a local file cannot be prepared.
    """
    return {name: dataset_size(grid, name) for name in grid.prepared_datasets}


def dataset_size(grid: Grid, dataset: str) -> Size:
    """Return a dataset's size: counted if it is here, else from its config entry.

    Raises:
        UserError: its local file cannot be prepared.
    """
    items = planned_items(grid, dataset)
    if items is not None:
        return size_of(items)
    settings = grid.prepared_datasets[dataset]
    n_rows = settings.get("rows", 0)
    is_of_each = settings.get("language") == EVERY_LANGUAGE  # `limit` counts those of a language
    n_items = n_rows if is_of_each else min(n_rows, settings.get("limit", n_rows))
    n_tokens = TOKENS_OF_AN_UNSEEN_ITEM
    return Size(n_items, n_tokens, False, n_items, n_items, n_tokens)


def size_of(items: pl.DataFrame) -> Size:
    """Return the size of a prepared dataset."""
    said = [[len(message["content"]) for message in messages] for messages in items["messages"]]
    with_answers = items.select("messages", "reference_context").iter_rows()
    follow_ups = human_exchanges(items)
    n_follow_up_characters = sum(
        len(e.answer.text) + len(e.turn) + sum(len(m["content"]) for m in e.prompt)
        for e in follow_ups
    )
    return Size(
        len(said),
        _tokens_each(sum(map(sum, said)), len(said)),
        True,
        sum(answer_to(*row) is not None for row in with_answers),
        len(follow_ups),
        _tokens_each(n_follow_up_characters, len(follow_ups)),
    )


def _tokens_each(n_characters: int, n: int) -> float:
    return n_characters / CHARACTERS_PER_TOKEN / max(1, n)


def planned_items(grid: Grid, dataset: str) -> pl.DataFrame | None:
    """Return a dataset's items as prepared, or as its local file gives them; None without either.

    Raises:
        UserError: its local file cannot be prepared.
    """
    settings, path = grid.prepared_datasets[dataset], grid.dataset_path(dataset)
    if read_identity(path) is not None:  # whole, and ours
        return pl.read_parquet(path)
    if "hub" in settings:
        return None
    return items_table(grid.dataset_settings(dataset), fetched(settings))


def total(loads: Iterable[Load]) -> Load:
    """Return all loads together."""
    return sum(loads, start=Load())


def load_of_model(grid: Grid, model: str, sizes: Mapping[str, Size]) -> dict[str, Load]:
    """Return all requests to a model, by kind: answers, user turns, scores."""
    loads: dict[str, Load] = {}
    for of in asked_of(grid, model):
        loads[of.kind] = loads.get(of.kind, Load()) + of.count(sizes)
    return loads


def load_of_judge(grid: Grid, judge: str, sizes: Mapping[str, Size]) -> Load:
    """Return all questions to a judge: about user turns of every source, and by rubrics."""
    turns = judged(grid).values() if judge in grid.judges else ()
    rubrics = (_rubrics(grid, name, sizes[name]) for name in grid.datasets
               if grid.grader(name) == judge)  # fmt: skip
    return total(of.count(sizes) for of in turns) + total(rubrics)


def _rubrics(grid: Grid, dataset: str, size: Size) -> Load:
    """Return the questions about the criteria of all models' answers to a dataset."""
    n, answers = n_criteria(grid, dataset, size), [grid.answer_settings(m) for m in grid.models]
    return total(requests(n, size.n_tokens + answer["max_tokens"]) for answer in answers)


def n_criteria(grid: Grid, dataset: str, size: Size) -> int:
    """Return the number of criteria of all items of a dataset, counted if it is here."""
    path = grid.dataset_path(dataset)
    if not path.is_file():
        return size.n_items * CRITERIA_OF_AN_UNSEEN_ITEM
    arguments = pl.read_parquet(path, columns=["verifier_arguments"])["verifier_arguments"]
    return sum(len(json.loads(text).get("rubrics") or ()) for text in arguments.drop_nulls())
