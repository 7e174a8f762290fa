"""Items after each user turn of a conversation: `turns` of a dataset's entry.

The id of such an item is `<conversation>/turn-<k>`, and in a tree, where conversations share their
beginnings, `<tree>/turn-<k>/<message>`: `datasets.clusters` reads from it what belongs together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from userturn.datasets.clusters import TURN
from userturn.datasets.messages import Message, check_ending, conversation, unpacked
from userturn.datasets.rows import Row
from userturn.storage.table_files import Schema

ALL_TURNS = "all"
ENDING = rf"/{TURN}(\d+)(?:/.*)?$"
PARTS = "parts"  # of a row until its items are made
TURN_COLUMNS: Schema = {"conversation": pl.String, "turn": pl.Int64}


class Part(NamedTuple):
    """A conversation up to one of its user turns.

    Attributes:
        turn: number of the user turn, from 1.
        branch: what the item's id ends in, to tell the branches of a tree apart.
        messages: the messages up to this turn, the last one the user's.
        context: these and the assistant's answer to them, if a user replied to it.
        reply: that user's text.
    """

    turn: int
    branch: str
    messages: list[Message]
    context: list[Message] | None = None
    reply: str | None = None


def turn_numbers(item: str = "item") -> pl.Expr:
    """Return the numbers of the user turns that items end in, null without `turns`."""
    return pl.col(item).cast(pl.String).str.extract(ENDING).cast(pl.Int64)


def parts_of(messages: Sequence[Message]) -> list[Part]:
    """Return the parts of a conversation; user messages in a row are one turn."""
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
    """Yield a part for each user message of a tree that people alone have written up to there."""
    if node.get("synthetic") or node.get("deleted"):
        return
    said = {"role": node["role"], "content": node["text"]}
    messages = [*path, *conversation([said], where)]
    if messages[-1]["role"] == "user":
        turn = sum(message["role"] == "user" for message in messages)
        yield Part(turn, f"/{node['message_id']}", messages)
    for reply in node.get("replies") or ():
        yield from parts_of_tree(unpacked(reply), messages, where)


def wanted_parts(parts: Iterable[Part], turns: str | Sequence[int], where: str) -> list[Part]:
    """Return the parts whose turns an entry asks for.

    Raises:
        UserError: one ends in an empty message.
    """
    wanted = [part for part in parts if turns == ALL_TURNS or part.turn in turns]
    for part in wanted:
        check_ending(part.messages, where)
    return wanted


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
