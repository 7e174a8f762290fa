"""How near turns are to what a person said at the same place, and to what another one said."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from userturn.controls.swapped_answers import donors, drawn_order
from userturn.datasets.messages import answer_to
from userturn.stats.chrf import chrf
from userturn.stats.clustered_means import clustered_mean
from userturn.stats.rng import generator
from userturn.storage.table_files import Schema
from userturn.tables.turn_clusters import LIMITS, limits_of

MEASURES = ("chrf", "chrf_unrelated", "chrf_above")
DISTANCE: Schema = {
    "n_compared": pl.Int64,
    **{f"{name}{end}": pl.Float64 for name in MEASURES for end in LIMITS},
}
MEANINGS = {
    "n_compared": "turns with text where a person's turn after the item is known, and another's",
    "chrf": "chrF of a turn against that person's, 0 to 100, the mean over these turns",
    "chrf_unrelated": "the same against a person's turn in another conversation of the dataset",
    "chrf_above": "the first less the second, a mean over the same turns",
}


class People(NamedTuple):
    """What people wrote after an item: the turn there, and one in another conversation."""

    there: str
    elsewhere: str


def people_of(items: pl.DataFrame, dataset: str, seed: int) -> dict[str, People]:
    """Return what people wrote after each item, where that and another person's turn is known.

    The other one is that of the next item in a drawn order whose conversation and turn differ, as
    answers are exchanged for the chance floor.

    Args:
        items: `item`, `messages`, `reference_context` and `reference_user_turn`.
        dataset: name.
        seed: the study's seed.
    """
    turns = {
        item: said.strip()
        for item, messages, context, said in items.select(
            "item", "messages", "reference_context", "reference_user_turn"
        ).iter_rows()
        if said and said.strip() and answer_to(messages, context) is not None
    }
    order = drawn_order(list(turns), generator(seed, "an unrelated person's turn", dataset))
    others = donors(turns, order)
    return {item: People(turns[item], turns[other]) for item, other in others.items()}


def distance(turns: pl.DataFrame, people: Mapping[str, People]) -> dict[str, Any]:
    """Return the columns of `DISTANCE` of a cell.

    Args:
        turns: `item`, `cluster` and `said`, null where a turn has no text.
        people: the result of `people_of`.
    """
    rows = [
        (cluster, chrf(said, people[item].there), chrf(said, people[item].elsewhere))
        for item, cluster, said in turns.select("item", "cluster", "said").iter_rows()
        if said and item in people
    ]
    clusters = [row[0] for row in rows]
    there, elsewhere = ([row[place] for row in rows] for place in (1, 2))
    above = [one - other for one, other in zip(there, elsewhere, strict=True)]
    found: dict[str, Any] = {"n_compared": len(rows)}
    for name, values in zip(MEASURES, (there, elsewhere, above), strict=True):
        found |= limits_of(name, clustered_mean(values, clusters))
    return found
