"""How large a planned study is: items, tokens and user turns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from userturn.config.dataset_files import EVERY_LANGUAGE
from userturn.datasets.messages import Message, answer_to
from userturn.datasets.prepare import fetched, items_table
from userturn.prompts.perturbations import needs_reference
from userturn.storage.atomic_files import read_identity
from userturn.study.candidates import candidate_sources, n_candidates
from userturn.study.grid import Grid
from userturn.study.self_play import depths

CHARACTERS_PER_TOKEN = 4
TOKENS_OF_AN_UNSEEN_ITEM = 250


@dataclass(frozen=True)
class Size:
    """Size of a dataset; `is_counted` is False for an assumption.

    `n_references` is the number of its items with an answer of its own that a person replied to.
    """

    n_items: int
    n_tokens: float
    is_counted: bool
    n_references: int = 0


def dataset_size(grid: Grid, dataset: str) -> Size:
    """Return a dataset's size: counted if it is here, else from its config entry.

    Raises:
        UserError: its local file cannot be prepared.
    """
    items = planned_items(grid, dataset)
    if items is not None:
        n_items, n_characters = _lengths(items["messages"].to_list())
        with_answers = items.select("messages", "reference_context").iter_rows()
        n_references = sum(answer_to(*row) is not None for row in with_answers)
        n_tokens = n_characters / CHARACTERS_PER_TOKEN / max(1, n_items)
        return Size(n_items, n_tokens, True, n_references)
    settings = grid.prepared_datasets[dataset]
    n_rows = settings.get("rows", 0)
    is_of_each = settings.get("language") == EVERY_LANGUAGE  # `limit` counts those of a language
    n_items = n_rows if is_of_each else min(n_rows, settings.get("limit", n_rows))
    return Size(n_items, TOKENS_OF_AN_UNSEEN_ITEM, False, n_items)


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


def _lengths(conversations: Sequence[Sequence[Message]]) -> tuple[int, int]:
    """Return the number of conversations, and of characters in all of them."""
    return len(conversations), sum(len(m["content"]) for each in conversations for m in each)


def candidates_of(grid: Grid, sizes: Mapping[str, Size], model: str) -> dict[str, int]:
    """Return the number of candidates of one model, by dataset; each has a user turn after it."""
    graded = {dataset for name, dataset in candidate_sources(grid) if name == model}
    n = n_candidates(grid.config)
    return {name: size.n_items * n * (name in graded) for name, size in sizes.items()}


def self_play_of(grid: Grid, sizes: Mapping[str, Size], model: str) -> Iterator[tuple[int, float]]:
    """Yield, for each further depth of a model's self-play, how many conversations go on at most.

    With each number comes the largest number of tokens before the answer of that depth.
    """
    longest = grid.answer_settings(model)["max_tokens"] + grid.config["user_turn"]["max_tokens"]
    for at in (at for at in depths(grid) if at.model == model):
        size = sizes[at.dataset]
        yield size.n_items, size.n_tokens + (at.depth - 1) * longest


def turns_of(grid: Grid, sizes: Mapping[str, Size], model: str) -> dict[str, int]:
    """Return the number of user turns of one model, by dataset."""
    turns = dict.fromkeys(sizes, 0)
    for cell in grid.cells:
        if cell.model == model:
            size, settings = sizes[cell.dataset], grid.perturbations[cell.perturbation]
            n_items = size.n_references if needs_reference(settings) else size.n_items
            turns[cell.dataset] += n_items * grid.n_samples(cell.temperature)
    return turns
