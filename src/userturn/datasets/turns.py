"""Items after each user turn of a conversation (`turns` of an entry), and which belong together.

Items after the turns of one conversation are not independent, nor are the versions of one problem
in several languages. Their ids begin alike: `<conversation>/turn-<k>`, in a tree, where
conversations share their beginnings, `<tree>/turn-<k>/<message>`, and `<problem>/version/<id>`. So
every table with a column `item` also says which items belong together, and every interval is
clustered by that. Items with equal messages are one cluster, too, whatever their ids
(`tables.copies`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import polars as pl

from userturn.datasets.messages import Message, check_ending, conversation, unpacked
from userturn.datasets.rows import Row
from userturn.storage.table_files import Schema

TURN = "turn-"
VERSION = "version"
ENDING = rf"/(?:{VERSION}/.*|{TURN}\d+(?:/.*)?)$"


def version_id(problem: str, item: str) -> str:
    """Return the id of an item that is one version of a problem."""
    return f"{problem}/{VERSION}/{item}"


def cluster_of(item: str) -> str:
    """Return the problem or conversation that an item belongs to, mostly the item itself."""
    return re.sub(ENDING, "", item)


# The copies of a study, for all tables. Few of the functions that need them know the study.
_copies: ContextVar[Mapping[str, str]] = ContextVar("copies")


@contextmanager
def one_cluster_each(copies: pl.DataFrame) -> Iterator[None]:
    """Count copies as one cluster in this block; `copies` has `dataset`, `item`, `cluster`."""
    dataset_and_item = pl.concat_str("dataset", "item", separator="\n")
    token = _copies.set(dict(copies.select(dataset_and_item, "cluster").iter_rows()))
    try:
        yield
    finally:
        _copies.reset(token)


def originals() -> pl.Expr:
    """Return a column of items in which copies are replaced by their originals."""
    ending = pl.col("item").cast(pl.String).str.extract(f"({ENDING})").fill_null("")
    return pl.concat_str(clusters(), ending).alias("item")


def clusters() -> pl.Expr:
    """Return the cluster of each `item`, as text: its problem or conversation, one for all copies.

    If a study has copies, the table also needs the column `dataset`.
    """
    name = pl.col("item").cast(pl.String).str.replace(ENDING, "")
    copies = _copies.get({})
    if not copies:
        return name
    dataset_and_name = pl.concat_str(pl.col("dataset").cast(pl.String), name, separator="\n")
    old, new = list(copies), list(copies.values())
    return dataset_and_name.replace_strict(old, new, default=name, return_dtype=pl.String).alias(
        "item"
    )


ALL_TURNS = "all"
PARTS = "parts"  # key of a row until its items are made
TURN_COLUMNS: Schema = {"conversation": pl.String, "turn": pl.Int64}


class Part(NamedTuple):
    """A conversation up to one of its user turns."""

    turn: int  # number of the user turn, from 1
    branch: str  # end of the item's id that tells the branches of a tree apart
    messages: list[Message]  # the last one is the user's
    context: list[Message] | None = None  # these and the assistant's answer, if a user replied
    reply: str | None = None  # the text of that reply


def turn_numbers() -> pl.Expr:
    """Return the numbers of the user turns that items end in, null without `turns`."""
    return pl.col("item").cast(pl.String).str.extract(rf"/{TURN}(\d+)(?:/.*)?$").cast(pl.Int64)


def parts_of(messages: Sequence[Message]) -> list[Part]:
    """Return the parts of a conversation, in which user messages in a row are one turn."""
    roles = [*(message["role"] for message in messages), "end"]
    ends = [i + 1 for i, role in enumerate(roles[:-1]) if role == "user" != roles[i + 1]]
    parts = []
    for turn, end in enumerate(ends, start=1):
        replied = roles[end : end + 2] == ["assistant", "user"]
        context = list(messages[: end + 1]) if replied else None
        reply = messages[end + 1]["content"] if replied else None
        parts.append(Part(turn, "", list(messages[:end]), context, reply))
    return parts


def parts_of_tree(node: Row, path: Sequence[Message], where: str) -> Iterator[Part]:
    """Yield a part per user message of a tree, up to the first synthetic or deleted message."""
    if node.get("synthetic") or node.get("deleted"):
        return
    added = {"role": node["role"], "content": node["text"]}
    messages = [*path, *conversation([added], where)]
    if messages[-1]["role"] == "user":
        turn = sum(message["role"] == "user" for message in messages)
        yield Part(turn, f"/{node['message_id']}", messages)
    for reply in node.get("replies") or ():
        yield from parts_of_tree(unpacked(reply), messages, where)


def selected_parts(parts: Iterable[Part], turns: str | Sequence[int], where: str) -> list[Part]:
    """Return the parts that an entry asks for, or raise UserError for an empty message."""
    selected = [part for part in parts if turns == ALL_TURNS or part.turn in turns]
    for part in selected:
        check_ending(part.messages, where)
    return selected


def items_by_turn(whole: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield an item for each part of conversations that have an id and their `PARTS`."""
    for row in whole:
        name = row["item"]
        for part in row[PARTS]:
            yield {key: value for key, value in row.items() if key != PARTS} | {
                "item": f"{name}/{TURN}{part.turn}{part.branch}",
                "messages": part.messages,
                "reference_context": part.context,
                "reference_user_turn": part.reply,
                "conversation": name,
                "turn": part.turn,
            }
