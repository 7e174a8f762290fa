"""User turns that copy one another, and rates in which each different text counts once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from userturn.datasets.turns import clusters
from userturn.judges.judge import scan_verdicts
from userturn.judges.words import words
from userturn.stats.discrimination import ROUNDING
from userturn.stats.proportions import Interval, Patterns, pooled_rate
from userturn.storage.table_files import (
    CELL_KEYS,
    JUDGED_CELL_COLUMNS,
    JUDGED_CELL_KEYS,
    TURN_COLUMNS,
    TURN_KEYS,
    Schema,
)
from userturn.study.cells import ALL
from userturn.tables.layout import column, limited
from userturn.tables.make_tables import Material
from userturn.tables.training_overlap import NEAR, grams, normalised
from userturn.tables.turn_rates import LIMITS, limits_of, sorted_groups

AT_ONCE = 500  # texts that are compared with all others at once
TEXT_SCHEMA: Schema = {**TURN_COLUMNS, "is_copy": pl.Boolean, "text": pl.UInt32}  # `number_texts`
FILES = 32  # files of verdicts that are read at once
STRIPPED = pl.when(pl.col("outcome") == "ok").then(pl.col("text").str.strip_chars()).alias("said")


def mark_copies(turns: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of a cell with their `cluster`, their text `said`, and `is_copy`.

    A copy has the same text as a turn after another item, apart from white space at the ends. Turns
    that belong to one item (`datasets.turns.clusters`) are no copies of each other. `said` and
    `is_copy` are null where a turn has no text.
    """
    named = turns.with_columns(STRIPPED, clusters().alias("cluster"))
    n_clusters = pl.col("cluster").n_unique().over("said")
    is_copy = pl.when(pl.col("said").is_not_null()).then(n_clusters > 1)
    return named.with_columns(is_copy=is_copy)


def mark_near_copies(turns: pl.DataFrame) -> pl.DataFrame:
    """Return turns from `mark_copies` with `is_near_copy`: True for exact and near copies.

    Near copies are as in `tables.training_overlap`: the Jaccard similarity of their sets of
    character 5-grams is 0.8 or more. A turn without a word is near no other.
    """
    texts = {turn: normalised(turn) for turn in turns["said"].drop_nulls().unique()}
    clusters_of_text: dict[str, set[str]] = {}
    for turn, cluster in turns.select("said", "cluster").drop_nulls().iter_rows():
        clusters_of_text.setdefault(texts[turn], set()).add(cluster)
    near = _near({text: of for text, of in sorted(clusters_of_text.items()) if text})
    is_near = [
        None if turn is None else is_copy or texts[turn] in near
        for turn, is_copy in turns.select("said", "is_copy").iter_rows()
    ]
    return turns.with_columns(is_near_copy=pl.Series(is_near, dtype=pl.Boolean))


def _near(clusters_by_text: Mapping[str, set[str]]) -> set[str]:
    """Return the texts that another cluster has exactly or nearly, given each text's clusters."""
    from scipy.sparse import csr_array  # slow to import, and rates need exact copies alone

    sets = [sorted(grams(text)) for text in clusters_by_text]
    names = {gram: number for number, gram in enumerate(sorted({*chain.from_iterable(sets)}))}
    columns = [names[gram] for own in sets for gram in own]
    sizes = np.array([len(own) for own in sets], dtype=np.int64)
    there = np.ones(len(columns), dtype=np.int32)
    matrix = csr_array((there, columns, np.r_[0, sizes.cumsum()]), shape=(len(sets), len(names)))
    clusters_of = [tuple(sorted(of)) for of in clusters_by_text.values()]
    number = {of: number_of for number_of, of in enumerate(dict.fromkeys(clusters_of))}
    cluster = np.array([number[of] for of in clusters_of])
    has_other = np.array([len(of) > 1 for of in clusters_of])
    for start in range(0, len(sets), AT_ONCE):
        shared = (matrix[start : start + AT_ONCE] @ matrix.T).tocoo()
        one, other = shared.row + start, shared.col
        is_near = shared.data >= NEAR * (sizes[one] + sizes[other] - shared.data) - ROUNDING
        has_other[one[is_near & (cluster[one] != cluster[other])]] = True
    return {text for text, has_near in zip(clusters_by_text, has_other, strict=True) if has_near}


Triple = tuple[str, str, str]


def triples(text: str) -> list[Triple]:
    """Return the triples of neighbouring words in a text, in lower case."""
    words_of_text = words(text)
    return list(zip(words_of_text, words_of_text[1:], words_of_text[2:], strict=False))


def share_repeated(text: str, others: Iterable[str]) -> float | None:
    """Return the share of a text's triples that other texts have, or None below three words.

    It is the containment of Broder (1997, Proc. SEQUENCES, 21-29).
    """
    own = triples(text)
    triples_of_others = {triple for other in others for triple in triples(other)}
    return sum(triple in triples_of_others for triple in own) / len(own) if own else None


COPIED: Schema = {
    "n_copies": pl.Int64,
    "n_distinct": pl.Int64,
    **{f"distinct{end}": pl.Float64 for end in LIMITS},
}
OF_COPIES = {
    "n_copies": (
        "turns that equal another item's turn of the same cell, white space at the ends aside; "
        "cells and models"
    ),
    "n_distinct": "different texts of the scored turns of each cell; turns without text are one",
    "distinct": "rate over these: each counts once, for the share of its turns that are genuine",
}
SCHEMA: Schema = {**JUDGED_CELL_COLUMNS, **COPIED}
COPIES_SHOWN = (
    column("copies of another item's turn", "of", "n_copies", "n_ok"),
    limited("over different texts", "share", "distinct"),
)


def distinct_text_rates(material: Material) -> pl.DataFrame:
    """Return the number of copies, and the rate over different texts, of a study's cells."""
    turns = pl.scan_parquet(list(material.paths["user_turns"]), include_file_paths="path")
    cells = turns.select(*CELL_KEYS, "path").unique().collect(engine="streaming")
    paths = sorted(material.paths["verdicts"])
    parts = (paths[start : start + FILES] for start in range(0, len(paths), FILES))
    return distinct_rates(_judged(part, cells) for part in parts)


def _judged(paths_to_verdicts: Sequence[str], cells: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts in some files with the turns' texts, from the paths of the cells."""
    keys = [*TURN_KEYS, "judge", "genuine"]
    verdicts = scan_verdicts(paths_to_verdicts).select(keys).collect()
    judged = cells.join(verdicts.select(CELL_KEYS).unique(), on=CELL_KEYS, how="semi")
    columns = [*TURN_KEYS, "outcome", "text"]
    paths = judged["path"].unique().sort()
    turns = [number_texts(pl.read_parquet(path, columns=columns)) for path in paths]
    texts = pl.concat([pl.DataFrame(schema=TEXT_SCHEMA), *turns])
    return verdicts.join(texts, on=TURN_KEYS, how="left")


def number_texts(cell: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of a cell with `is_copy`, and `text`, a number per different text."""
    text = pl.col("said").rank("dense")
    return mark_copies(cell).select(*TURN_KEYS, "is_copy", text=text)


def distinct_rates(judged: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return the columns `SCHEMA` per cell and judge, and the same over all datasets (`all`).

    `judged` has verdicts, with `is_copy` and `text` of their turns (`number_texts`), in parts that
    each have all verdicts of a cell and judge.
    """
    items = pl.concat(map(_counted_items, judged)).sort(*JUDGED_CELL_KEYS, "item").drop("item")
    rows = [*_rows(items), *_rows(items.with_columns(dataset=pl.lit(ALL)))]
    return pl.DataFrame(rows, schema=SCHEMA)


def _counted_items(judged: pl.DataFrame) -> pl.DataFrame:
    """Return the number of different texts of each item, of genuine ones, and of copies."""
    once = [*JUDGED_CELL_KEYS, "text"]
    weight = 1 / pl.col("genuine").count().over(once)
    weighed = judged.with_columns(
        clusters(), weight=pl.when(pl.col("genuine").is_not_null()).then(weight)
    )
    items = weighed.group_by(*JUDGED_CELL_KEYS, "item").agg(
        m=pl.col("weight").sort().sum(),
        y=pl.col("weight").filter("genuine").sort().sum(),
        n_copies=pl.col("is_copy").sum(),
    )
    return items.with_columns(pl.col(pl.String).cast(pl.Categorical))


def _rows(groups: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for names, items in sorted_groups(groups, JUDGED_CELL_KEYS):
        rate = Interval(None, None, None)
        seen = items.filter(pl.col("m") > 0)
        if seen.height:
            m, y = (seen[name].to_numpy() for name in ("m", "y"))
            rate = pooled_rate(Patterns(np.ones(len(m)), m, y))
        yield {
            **names,
            "n_copies": int(items["n_copies"].sum()),
            "n_distinct": round(items["m"].sum()),
            **limits_of("distinct", rate),
        }
