"""What user turns say again: another item's turn, exactly or nearly, or other texts in part."""

from collections.abc import Iterable, Mapping
from itertools import chain

import numpy as np
import polars as pl

from userturn.datasets.clusters import clusters
from userturn.judges.words import words
from userturn.stats.within_items import ROUNDING
from userturn.tables.training_overlap import NEAR, grams, normalised

AT_ONCE = 500  # texts that are compared with all others at once
SAID = pl.when(pl.col("outcome") == "ok").then(pl.col("text").str.strip_chars()).alias("said")


def with_copies(turns: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of a cell with their `cluster`, what is `said`, and `is_copy`.

    A copy has the characters of a turn after another item; what belongs to one item
    (`datasets.clusters`) is no copy of each other. `said` and `is_copy` are null where a turn has
    no text. White space at the ends is left out.

    Args:
        turns: of one cell: `dataset`, `item`, `outcome` and `text`.
    """
    named = turns.with_columns(SAID, clusters().alias("cluster"))
    n_clusters = pl.col("cluster").n_unique().over("said")
    is_copy = pl.when(pl.col("said").is_not_null()).then(n_clusters > 1)
    return named.with_columns(is_copy=is_copy)


def with_near_copies(turns: pl.DataFrame) -> pl.DataFrame:
    """Return the turns of a cell with `is_near_copy`: of a turn that is the same or nearly so.

    Nearly means what it does of training data (`tables.training_overlap`): the Jaccard similarity
    of their sets of character 5-grams is 0.8 or more. A turn without a word is near no other.

    Args:
        turns: the result of `with_copies`.
    """
    texts = {said: normalised(said) for said in turns["said"].drop_nulls().unique()}
    held: dict[str, set[str]] = {}
    for said, cluster in turns.select("said", "cluster").drop_nulls().iter_rows():
        held.setdefault(texts[said], set()).add(cluster)
    near = _near({text: of for text, of in sorted(held.items()) if text})
    is_near = [
        None if said is None else is_copy or texts[said] in near
        for said, is_copy in turns.select("said", "is_copy").iter_rows()
    ]
    return turns.with_columns(is_near_copy=pl.Series(is_near, dtype=pl.Boolean))


def _near(held: Mapping[str, set[str]]) -> set[str]:
    """Return the texts that another cluster has, or one nearly the same; each with its clusters."""
    from scipy.sparse import csr_array  # slow to import, and rates need exact copies alone

    sets = [sorted(grams(text)) for text in held]
    names = {gram: number for number, gram in enumerate(sorted({*chain.from_iterable(sets)}))}
    columns = [names[gram] for own in sets for gram in own]
    sizes = np.array([len(own) for own in sets], dtype=np.int64)
    there = np.ones(len(columns), dtype=np.int32)
    matrix = csr_array((there, columns, np.r_[0, sizes.cumsum()]), shape=(len(sets), len(names)))
    clusters_of = [tuple(sorted(of)) for of in held.values()]
    number = {of: place for place, of in enumerate(dict.fromkeys(clusters_of))}
    cluster = np.array([number[of] for of in clusters_of])
    found = np.array([len(of) > 1 for of in clusters_of])
    for start in range(0, len(sets), AT_ONCE):
        shared = (matrix[start : start + AT_ONCE] @ matrix.T).tocoo()
        one, other = shared.row + start, shared.col
        is_near = shared.data >= NEAR * (sizes[one] + sizes[other] - shared.data) - ROUNDING
        found[one[is_near & (cluster[one] != cluster[other])]] = True
    return {text for text, is_found in zip(held, found, strict=True) if is_found}


Triple = tuple[str, str, str]


def triples(text: str) -> list[Triple]:
    """Return the triples of neighbouring words of a text, in lower case."""
    said = words(text)
    return list(zip(said, said[1:], said[2:], strict=False))


def share_repeated(text: str, others: Iterable[str]) -> float | None:
    """Return the share of a text's triples that others have; None if it has fewer than 3 words."""
    own = triples(text)
    known = {triple for other in others for triple in triples(other)}
    return sum(triple in known for triple in own) / len(own) if own else None
