"""Which items of a dataset belong together, told by their ids alone.

Items after the turns of one conversation are not independent, nor are the versions of one problem
in several languages. Their ids begin alike: `<conversation>/turn-<k>` (`datasets.turns`) and
`<problem>/version/<id>`. So every table with a column `item` also says which items belong
together, and every interval is clustered by that.
"""

import re

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


def clusters(item: str = "item") -> pl.Expr:
    """Return the problems or conversations of a column of items, as text."""
    return pl.col(item).cast(pl.String).str.replace(ENDING, "")
