"""User turns after another answer than their own: another item's, an edited, or an unseen one.

After another item's answer, the rate is of turns that cannot react to the answer. A judge sees the
item's own conversation, the answer to another item, and the turn. The items have one drawn order
for all cells of a dataset. Each gets the answer of the next one, and the last that of the first, so
that no item keeps its own. Equal answers and items of the same conversation are skipped.

In an edited answer, every number, name or word that a turn has from the answer, and not from the
prompt, is exchanged. So a judge that called the turn genuine because it reacts to the answer should
not call it genuine again.

An unseen answer is the item's own, before a turn of a control, which the model wrote without it. So
if a judge calls the turn genuine, it fits the answer without reacting to it.

Of each cell `n_turns` turns are taken in `order`, which has all items of the dataset, with first
samples before second ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import polars as pl

from userturn.datasets.turns import cluster_of
from userturn.judges.words import (
    EMPTY_WORDS,
    WORD,
    content_words,
    is_english,
    stem,
    vocabulary,
    words,
)
from userturn.stats.rng import generator
from userturn.storage.table_files import TURN_COLUMNS, TURN_KEYS, Schema, write_table
from userturn.study.cells import PLAIN

SWAPPED_TURNS_SCHEMA: Schema = {
    **TURN_COLUMNS,
    "key": pl.String,
    "answer": pl.String,
    "answer_from": pl.String,
    "outcome": pl.String,
    "text": pl.String,
    "error": pl.String,
}
EDITED_TURNS_SCHEMA: Schema = {
    name: kind for name, kind in SWAPPED_TURNS_SCHEMA.items() if name != "answer_from"
}
READ = list(EDITED_TURNS_SCHEMA)  # of the cells


def donors(answers: Mapping[str, str], order: Sequence[str]) -> dict[str, str]:
    """Return each item's donor, the next item in the order that has another answer.

    Items of the same conversation are passed over, since a turn may fit their answers, too. An item
    is left out if it has no answer, or if all other conversations have its answer.
    """
    answered = [item for item in order if item in answers]
    if len(set(answers.values())) < 2:
        return {}
    of = {item: cluster_of(item) for item in answered}
    donor_of = {}
    for position, item in enumerate(answered):
        others = answered[position + 1 :] + answered[:position]
        unlike = (o for o in others if answers[o] != answers[item] and of[o] != of[item])
        if (other := next(unlike, None)) is not None:
            donor_of[item] = other
    return donor_of


def random_order(items: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return the items in a random order that does not depend on their order in `items`."""
    return [str(item) for item in rng.permutation(sorted(items))]


def swapped_turns(turns: pl.DataFrame, n_turns: int, order: Sequence[str]) -> pl.DataFrame:
    """Return some turns of one cell, each after the `answer` of another item, `answer_from`.

    Turns with the outcome `error` have no text and are left out.
    """
    written = turns.select(READ).filter(pl.col("outcome") != "error")
    answered = written.filter(pl.col("answer").str.len_bytes() > 0)
    answers = dict(answered.select("item", "answer").unique("item", keep="first").iter_rows())
    pairs = [(item, donor, answers[donor]) for item, donor in donors(answers, order).items()]
    schema = dict.fromkeys(("item", "answer_from", "answer"), pl.String)
    others = pl.DataFrame(pairs, schema=schema, orient="row")
    return _first_turns(written, others, ["item"], n_turns, order, SWAPPED_TURNS_SCHEMA)


def _first_turns(
    written: pl.DataFrame,
    answers: pl.DataFrame,
    on: Sequence[str],
    n_turns: int,
    order: Sequence[str],
    schema: Schema,
) -> pl.DataFrame:
    """Return the first turns that get another answer, as a frame of a schema.

    `answers` has an `answer` for each value of the columns `on`. A turn without one is left out.
    """
    positions = pl.DataFrame(
        {"item": order, "position": range(len(order))},
        schema={"item": pl.String, "position": pl.Int64},
    )
    return (
        written.drop("answer")
        .join(answers, on=on)
        .join(positions, on="item")
        .sort("sample", "position")
        .head(n_turns)
        .select(pl.col(name).cast(kind) for name, kind in schema.items())
    )


def _order_of_floor(path_to_items: str, dataset: str, seed: int) -> list[str]:
    items = pl.read_parquet(path_to_items, columns=["item"])["item"].to_list()
    return random_order(items, generator(seed, "chance floor", dataset))


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
    order = _order_of_floor(path_to_items, dataset, seed)
    cells = (pl.read_parquet(path, columns=READ) for path in sorted(paths_to_user_turns))
    swapped = pl.concat([swapped_turns(cell, n_turns, order) for cell in cells]).sort(TURN_KEYS)
    write_table(swapped, path_to_swapped, identity)


NAMES = WORD.findall("Tamsin Orlando Bukhara Verdi Ludmila Ghent Percival Nairobi Osman Trieste")
NOUNS = WORD.findall("lantern gravel trumpet walnut saddle thimble harbour curtain pigeon anvil")


def stems_from_answer(prompt: str, answer: str, turn: str) -> list[str]:
    """Return the stems of the content words that a turn has from the answer alone, in order."""
    new = vocabulary(answer) - vocabulary(prompt) - EMPTY_WORDS
    return list(dict.fromkeys(word for word in content_words(words(turn)) if word in new))


def edited(prompt: str, answer: str, turn: str) -> str | None:
    """Return an answer in which the words that a turn takes up from it are exchanged.

    A number becomes another number, a name another name, and any other word a noun, none of which
    is in prompt, answer or turn. Return None if the turn takes up nothing, too few names or nouns
    are left, or the answer is not in English.
    """
    shared_words = stems_from_answer(prompt, answer, turn)
    words_of_turn = frozenset[str]().union(*map(vocabulary, (prompt, answer, turn)))
    spare: dict[bool, Iterator[str]] = {
        is_name: iter([word for word in of if stem(word.lower()) not in words_of_turn])
        for is_name, of in ((True, NAMES), (False, NOUNS))
    }
    others = {
        word: _other(word, words_of_turn, spare[_is_name(word, answer)]) for word in shared_words
    }
    if not shared_words or None in others.values() or is_english(answer) is False:
        return None
    return WORD.sub(lambda match: _like(match[0], others), answer)


def _is_name(word: str, answer: str) -> bool:
    """Return whether the words of a stem are written with a capital wherever they stand."""
    return all(w[0].isupper() for w in WORD.findall(answer) if stem(w.lower()) == word)


def _other(word: str, avoided: frozenset[str], spare: Iterator[str]) -> str | None:
    """Return the replacement of a word, or None if no word is left for it."""
    if word.isdecimal():
        return next(str(n) for n in count(int(word[:9]) + 7, 4) if str(n) not in avoided)
    return next(spare, None)


def _like(old: str, others: Mapping[str, str | None]) -> str:
    """Return the replacement of a word, with the same capital, or the word itself."""
    new = others.get(stem(old.lower().replace("’", "'")))
    if new is None:
        return old
    return new.capitalize() if old[0].isupper() else new


def edited_turns(
    turns: pl.DataFrame, prompts: Mapping[str, str], n_turns: int, order: Sequence[str]
) -> pl.DataFrame:
    """Return some turns of one cell, each after its own answer, edited.

    `prompts` has the last message before the answer, by item. Turns for which `edited` gives None
    are passed over.
    """
    position_of = {item: at for at, item in enumerate(order)}
    written = turns.select(READ).filter(pl.col("outcome") == "ok", pl.col("answer").is_not_null())
    rows: list[dict[str, Any]] = []
    for row in sorted(
        written.to_dicts(), key=lambda row: (row["sample"], position_of[row["item"]])
    ):
        if len(rows) == n_turns:
            break
        answer = edited(prompts[row["item"]], row["answer"], row["text"])
        if answer is not None:
            rows.append(row | {"answer": answer})
    return pl.DataFrame(rows, schema=EDITED_TURNS_SCHEMA)


def edited_cells(
    dataset: str, cells: Iterable[pl.DataFrame], items: pl.DataFrame, n_turns: int, seed: int
) -> pl.DataFrame:
    """Return up to `n_turns` turns of each cell of a model and dataset after edited answers."""
    rows = items.select("item", "messages").iter_rows()
    prompts = {item: messages[-1]["content"] for item, messages in rows}
    order = random_order([*prompts], generator(seed, "edited answers", dataset))
    return pl.concat([edited_turns(cell, prompts, n_turns, order) for cell in cells]).sort(
        TURN_KEYS
    )


def edit_answers(
    dataset: str,
    n_turns: int,
    seed: int,
    identity: str,
    paths_to_user_turns: Sequence[str],
    path_to_items: str,
    path_to_edited: str,
) -> None:
    """Write some turns of each cell of a model and dataset, each after an edited answer."""
    items = pl.read_parquet(path_to_items, columns=["item", "messages"])
    cells = (pl.read_parquet(path, columns=READ) for path in sorted(paths_to_user_turns))
    write_table(edited_cells(dataset, cells, items, n_turns, seed), path_to_edited, identity)


def unseen_turns(
    turns: pl.DataFrame, answers: pl.DataFrame, n_turns: int, order: Sequence[str]
) -> pl.DataFrame:
    """Return some turns of one control, each after the answer that it was written without.

    `answers` are the user turns of the unperturbed cell at the same temperature, of which each turn
    gets the answer of its item and sample. It is left out if there is none, and if its own outcome
    is `error`.
    """
    written = turns.select(READ).filter(pl.col("outcome") != "error")
    on = ["item", "sample"]
    own = answers.filter(pl.col("answer").str.len_bytes() > 0).select(*on, "answer")
    return _first_turns(written, own, on, n_turns, order, EDITED_TURNS_SCHEMA)


def show_unseen_answers(
    dataset: str,
    n_turns: int,
    seed: int,
    identity: str,
    paths_to_user_turns: Sequence[str],
    path_to_items: str,
    path_to_unseen: str,
) -> None:
    """Write some turns of each control of a model and dataset, each after its item's own answer.

    The items have the order of the chance floor, so that both are of the same items.
    """
    order = _order_of_floor(path_to_items, dataset, seed)
    turns = pl.concat([pl.read_parquet(path, columns=READ) for path in paths_to_user_turns])
    answers = dict(turns.filter(perturbation=PLAIN).group_by("temperature"))
    controls = turns.filter(pl.col("perturbation") != PLAIN)
    cells = controls.group_by("temperature", "perturbation")
    unseen = [unseen_turns(cell, answers[at[:1]], n_turns, order) for at, cell in cells]
    write_table(pl.concat(unseen).sort(TURN_KEYS), path_to_unseen, identity)
