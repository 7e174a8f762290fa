"""Which items of a dataset belong together, told by their ids, and by which are copies.

Items after the turns of one conversation are not independent, nor are the versions of one problem
in several languages. Their ids begin alike: `<conversation>/turn-<k>` (`datasets.turns`) and
`<problem>/version/<id>`. So every table with a column `item` also says which items belong
together, and every interval is clustered by that. Items with equal messages are one cluster, too,
whatever their ids (`tables.copies`).
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import polars as pl

TURN = "turn-"
VERSION = "version"
ENDING = rf"/(?:{VERSION}/.*|{TURN}\d+(?:/.*)?)$"


def version_id(problem: str, item: str) -> str:
    """Return the id of an item that is one version of a problem."""
    return f"{problem}/{VERSION}/{item}"


def cluster_of(item: str) -> str:
    """Return the problem or conversation that an item belongs to; mostly the item itself."""
    return re.sub(ENDING, "", item)


# Every table is made with the copies of its study, and few of the functions between know the study.
_copies: ContextVar[Mapping[str, str]] = ContextVar("copies")


@contextmanager
def one_cluster_each(copies: pl.DataFrame) -> Iterator[None]:
    """Take copies for one cluster in this block: `dataset`, `item` and `cluster` of each."""
    place = pl.concat_str("dataset", "item", separator="\n")
    token = _copies.set(dict(copies.select(place, "cluster").iter_rows()))
    try:
        yield
    finally:
        _copies.reset(token)


def originals(item: str = "item") -> pl.Expr:
    """Return a column of items, copies as the items that they are copies of."""
    ending = pl.col(item).cast(pl.String).str.extract(f"({ENDING})").fill_null("")
    return pl.concat_str(clusters(item), ending).alias(item)


def clusters(item: str = "item") -> pl.Expr:
    """Return the problems or conversations of a column of items, as text; copies are one.

    Where a study has copies, the rows need their `dataset`.
    """
    name = pl.col(item).cast(pl.String).str.replace(ENDING, "")
    copies = _copies.get({})
    if not copies:
        return name
    place = pl.concat_str(pl.col("dataset").cast(pl.String), name, separator="\n")
    old, new = list(copies), list(copies.values())
    return place.replace_strict(old, new, default=name, return_dtype=pl.String).alias(item)
