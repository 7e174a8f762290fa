"""User turns after another item's answer: the rate of turns that cannot react to the answer.

A judge sees the item's own conversation, the answer to another item, and the turn. The items have
one drawn order for all cells of a dataset. Each gets the answer of the next one, and the last that
of the first, so that no item keeps its own. An equal answer is skipped.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from userturn.datasets.clusters import cluster_of
from userturn.stats.rng import generator
from userturn.storage.table_files import TURN_COLUMNS, TURN_KEYS, Schema, write_table

SWAPPED_TURNS_SCHEMA: Schema = {
    **TURN_COLUMNS,
    "key": pl.String,
    "answer": pl.String,
    "answer_from": pl.String,
    "outcome": pl.String,
    "text": pl.String,
    "error": pl.String,
}
READ = [name for name in SWAPPED_TURNS_SCHEMA if name != "answer_from"]


def donors(answers: Mapping[str, str], order: Sequence[str]) -> dict[str, str]:
    """Return the item whose answer each item is given: the next in the order with another answer.

    Items of the same conversation are passed over, since a turn may fit their answers, too.

    Args:
        answers: answers by item, of the items that have one.
        order: all items; those without an answer neither give nor get one.

    Returns:
        The donor by item; an item is left out if all other conversations have its answer.
    """
    answered = [item for item in order if item in answers]
    if len(set(answers.values())) < 2:
        return {}
    of = {item: cluster_of(item) for item in answered}
    found = {}
    for place, item in enumerate(answered):
        others = answered[place + 1 :] + answered[:place]
        unlike = (o for o in others if answers[o] != answers[item] and of[o] != of[item])
        if (other := next(unlike, None)) is not None:
            found[item] = other
    return found


def drawn_order(items: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return the items in a random order that does not depend on their order in `items`."""
    return [str(item) for item in rng.permutation(sorted(items))]


def swapped_turns(turns: pl.DataFrame, n_turns: int, order: Sequence[str]) -> pl.DataFrame:
    """Return some turns of one cell, each after the answer of another item.

    Args:
        turns: user turns of a cell; those with the outcome `error` have no text and are left out.
        n_turns: number of turns, in the order of items: all first samples before any second.
        order: the dataset's items in their drawn order.

    Returns:
        `SWAPPED_TURNS_SCHEMA`: the turn, another item's `answer`, and `answer_from`, that item.
    """
    written = turns.select(READ).filter(pl.col("outcome") != "error")
    answered = written.filter(pl.col("answer").str.len_bytes() > 0)
    answers = dict(answered.select("item", "answer").unique("item", keep="first").iter_rows())
    given = donors(answers, order)
    others = pl.DataFrame(
        {"item": order, "place": range(len(order)), "answer_from": map(given.get, order)},
        schema={"item": pl.String, "place": pl.Int64, "answer_from": pl.String},
    )
    texts = pl.DataFrame(
        {"answer_from": list(answers), "answer": list(answers.values())},
        schema={"answer_from": pl.String, "answer": pl.String},
    )
    return (
        written.drop("answer")
        .join(others, on="item")
        .join(texts, on="answer_from")
        .sort("sample", "place")
        .head(n_turns)
        .select(pl.col(name).cast(kind) for name, kind in SWAPPED_TURNS_SCHEMA.items())
    )


def swapped_cells(
    dataset: str, cells: Iterable[pl.DataFrame], items: Sequence[str], n_turns: int, seed: int
) -> pl.DataFrame:
    """Return `n_turns` turns of each cell of a model and dataset after other items' answers."""
    order = drawn_order(items, generator(seed, "chance floor", dataset))
    return pl.concat([swapped_turns(cell, n_turns, order) for cell in cells]).sort(TURN_KEYS)


def swap_answers(
    dataset: str,
    n_turns: int,
    seed: int,
    identity: str,
    paths_to_user_turns: Sequence[str],
    path_to_items: str,
    path_to_swapped: str,
) -> None:
    """Write some turns of each cell of a model and dataset, each after another item's answer."""
    items = pl.read_parquet(path_to_items, columns=["item"])["item"].to_list()
    cells = (pl.read_parquet(path, columns=READ) for path in sorted(paths_to_user_turns))
    write_table(swapped_cells(dataset, cells, items, n_turns, seed), path_to_swapped, identity)
