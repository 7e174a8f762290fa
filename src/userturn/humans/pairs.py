"""Rounds of pairs: which of two turns, a person's and a model's, did a person write?

Both follow the same conversation and the same answer, the dataset's own. A model's turn that was
cut at the token limit shows who wrote it, and one that says the same as the person leaves nothing
to choose. Such turns are counted and never drawn. A conversation is in at most one pair of all
rounds together. Otherwise an annotator who saw the person's turn beside two models would recognise
it by its return, and a later part of the conversation would quote it. Annotators always choose:
some people would use a third answer often and others never, and the share of the rest would depend
on that.

A conversation goes to the cell for which their joint hash is the largest (rendezvous hashing:
Thaler and Ravishankar 1998, doi:10.1109/90.663936). So a new cell takes conversations from other
cells and moves none among them, and whether a turn can be in a pair does not affect where its
conversation goes.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from userturn.datasets.messages import answer_to, opening
from userturn.humans.blinding import neutral, stop_tokens
from userturn.humans.rounds import OPAQUE_ID_LENGTH, NewRound, conversation_shown, draw_once
from userturn.humans.sample import keyed_hash, keyed_hashes
from userturn.logs import say
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import (
    CELL_KEYS,
    ITEM_KEYS,
    TURN_COLUMNS,
    TURN_KEYS,
    Schema,
    read_tables,
)
from userturn.wording import number_of
from userturn.workflow.humans import PairGrid

FAILED, CUT, SAME = "failed", "cut", "same"  # why a turn is left out
PAIRED_SCHEMA: Schema = {
    **TURN_COLUMNS,
    "key": pl.String,
    "conversation": pl.String,
    "left_out": pl.String,
}
TURNS_SCHEMA: Schema = {
    **TURN_COLUMNS,
    **dict.fromkeys(("key", "outcome", "finish_reason", "answer", "text"), pl.String),
}
PEOPLE_SCHEMA: Schema = {
    **dict.fromkeys(("dataset", "item", "conversation", "reference_user_turn"), pl.String),
    "messages": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
}
COLUMNS = ["item", "messages", "reference_context", "reference_user_turn"]


def people_turns(paths_to_datasets: Sequence[str]) -> pl.DataFrame:
    """Return people's turns after the datasets' own answers, one row per item that has one.

    `conversation` is the same for all items that begin with the same user message, in any dataset,
    since what a person wrote after one of them may be part of another.
    """
    rows = []
    for path in paths_to_datasets:
        for item, messages, context, turn in pl.read_parquet(path, columns=COLUMNS).iter_rows():
            if turn and turn.strip() and answer_to(messages, context) is not None:
                talk = fingerprint(opening(messages))[:16]
                rows.append((Path(path).stem, item, talk, turn, messages))
    return pl.DataFrame(rows, schema=PEOPLE_SCHEMA, orient="row")


def paired_turns(turns: pl.DataFrame, people: pl.DataFrame, tokens: Sequence[str]) -> pl.DataFrame:
    """Return the model's turns after an answer to which a person replied, sorted.

    `left_out` is why a turn can be in no pair, or null. `people` is the result of `people_turns`.
    `tokens` are the models' special tokens, which annotators do not see.
    """
    both = turns.join(people.drop("messages"), on=ITEM_KEYS).sort(TURN_KEYS)
    texts = [
        [" ".join(neutral(text or "", tokens, is_turn=True).split()) for text in both[name]]
        for name in ("text", "reference_user_turn")
    ]
    model, person = (pl.Series(values, dtype=pl.String) for values in texts)
    left_out = (
        pl.when((pl.col("outcome") != "ok") | (model == ""))
        .then(pl.lit(FAILED))
        .when(pl.col("finish_reason") == "length")
        .then(pl.lit(CUT))
        .when(model == person)
        .then(pl.lit(SAME))
    )
    return both.with_columns(left_out=left_out).select(
        pl.col(name).cast(kind) for name, kind in PAIRED_SCHEMA.items()
    )


FIRST, SECOND = SIDES = ("first", "second")
PER_CELL = "per_cell"  # in the metadata of a key: pairs of each cell, in all rounds together
PAIR_KEY_SCHEMA: Schema = {
    "round": pl.String,
    "id": pl.String,
    **TURN_COLUMNS,
    "key": pl.String,
    "conversation": pl.String,
    "person": pl.String,
}
PAIR_ITEMS_SCHEMA: Schema = {
    "id": pl.String,
    "conversation": pl.List(pl.Struct({"role": pl.String, "text": pl.String})),
    "turns": pl.List(pl.String),
}


def drawn_pairs(
    paired: pl.DataFrame, earlier: pl.DataFrame, per_cell: int, seed: int
) -> pl.DataFrame:
    """Return the turns of a new round, with the rank of each within its cell, from 0.

    They are drawn from the `paired_turns` of all cells, up to `per_cell` in all rounds together.
    """
    secret = fingerprint(["order of the pairs", seed])
    before = earlier.group_by(CELL_KEYS).agg(n_before=pl.len())
    room = per_cell - pl.col("n_before").fill_null(0).cast(pl.Int64)
    open_to = (
        paired.join(before, on=CELL_KEYS, how="left", maintain_order="left")
        .with_columns(cell=pl.concat_str(CELL_KEYS, separator="\n"), room=room)
        .filter(
            ~pl.col("conversation").is_in(earlier["conversation"].to_list()), pl.col("room") > 0
        )
    )
    places = open_to.select("conversation", "cell").unique(maintain_order=True)
    names = places.select(pl.concat_str("conversation", "cell", separator="\n")).to_series()
    chosen = (
        places.with_columns(place=keyed_hashes(secret, names))
        .sort("conversation", "place")
        .unique("conversation", keep="last", maintain_order=True)
    )
    return (
        open_to.with_columns(order=keyed_hashes(secret, open_to["key"]))
        .join(chosen, on=["conversation", "cell"], how="semi")
        .sort("order", *TURN_KEYS)
        .unique("conversation", keep="first", maintain_order=True)
        .filter(pl.col("left_out").is_null())
        .with_columns(rank=pl.int_range(pl.len()).over("cell"))
        .filter(pl.col("rank") < pl.col("room"))
    )


def keyed_pairs(drawn: pl.DataFrame, round_name: str, seed: int) -> pl.DataFrame:
    """Return the key of a round in the order of its opaque ids, which is the order of the page.

    In each cell the person's turn is first as often as second, give or take one: places alternate
    in the order of the draw, beginning with a place that the cell's hash decides. So a habit of
    choosing one place cannot move a rate, and no text decides.
    """
    ids, sides = (fingerprint([what, seed, round_name]) for what in ("ids of pairs", "places"))
    names = drawn.select(pl.concat_str(*TURN_KEYS, "key", separator="\n")).to_series()
    begin = [int(keyed_hash(sides, cell)[0], 16) % 2 for cell in drawn["cell"]]
    is_first = (pl.col("rank") + pl.Series(begin, dtype=pl.Int64)) % 2 == 0
    return (
        drawn.with_columns(
            id=keyed_hashes(ids, names).str.head(OPAQUE_ID_LENGTH),
            round=pl.lit(round_name),
            person=pl.when(is_first).then(pl.lit(FIRST)).otherwise(pl.lit(SECOND)),
        )
        .sort("id")
        .select(pl.col(name).cast(kind) for name, kind in PAIR_KEY_SCHEMA.items())
    )


def texts_of_pairs(
    pairs: pl.DataFrame, turns: pl.DataFrame, people: pl.DataFrame
) -> list[dict[str, Any]]:
    """Return the rows of some pairs with the answer, both turns and the messages before them.

    The model's turn is in `text`, the person's in `reference_user_turn`.
    """
    texts = turns.select(*TURN_KEYS, "key", "answer", "text")
    return (
        pairs.join(texts, on=[*TURN_KEYS, "key"], maintain_order="left")
        .join(people.drop("conversation"), on=ITEM_KEYS, maintain_order="left")
        .rows(named=True)
    )


def shown_pairs(
    key: pl.DataFrame, turns: pl.DataFrame, people: pl.DataFrame, tokens: Sequence[str]
) -> pl.DataFrame:
    """Return what annotators see of a round: opaque id, conversation with its answer, two turns."""
    rows = []
    for row in texts_of_pairs(key, turns, people):
        person, model = (row[name] for name in ("reference_user_turn", "text"))
        both = [neutral(text, tokens, is_turn=True) for text in (person, model)]
        rows.append(
            {
                "id": row["id"],
                "conversation": conversation_shown(row["messages"], row["answer"], tokens),
                "turns": both if row["person"] == FIRST else both[::-1],
            }
        )
    return pl.DataFrame(rows, schema=PAIR_ITEMS_SCHEMA)


def round_of_pairs(
    round_name: str,
    per_cell: int,
    seed: int,
    paths_to_user_turns: Sequence[str],
    paths_to_datasets: Sequence[str],
    paths_to_descriptions: Sequence[str],
    paths_to_earlier_keys: Sequence[str],
) -> NewRound:
    """Return a new round of pairs: its key, and what annotators see of it."""
    tokens = stop_tokens(paths_to_descriptions)
    turns = read_tables(paths_to_user_turns, TURNS_SCHEMA)
    people = people_turns(paths_to_datasets)
    earlier = read_tables(paths_to_earlier_keys, PAIR_KEY_SCHEMA)
    pairs = drawn_pairs(paired_turns(turns, people, tokens), earlier, per_cell, seed)
    key = keyed_pairs(pairs, round_name, seed)
    return NewRound(key, shown_pairs(key, turns, people, tokens), {PER_CELL: str(per_cell)})


def draw_pairs(
    pairs: PairGrid, round_name: str, path_to_key: str, path_to_items: str, **inputs: Sequence[str]
) -> None:
    """Write a round's key and, in another file, what annotators see, drawn now or earlier.

    `inputs` are the path parameters of `round_of_pairs`.
    """
    seed = pairs.grid.config["seed"]
    draw = partial(round_of_pairs, round_name, pairs.per_cell, seed, **inputs)
    draw_once(pairs, round_name, draw, path_to_key, path_to_items)
    n_pairs = pl.scan_parquet(path_to_key).select(pl.len()).collect().item()
    say(
        f"round '{round_name}': {number_of(n_pairs, 'pair')} of "
        f"{number_of(len(pairs.cells), 'cell')}, at most {pairs.per_cell} of each in all rounds"
    )
