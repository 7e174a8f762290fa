"""Turns to learn the labels by, before a round: the project's own, whose label is known.

They belong to no study, so nothing that is chosen for them can enter its results.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from userturn.storage.hashing import fingerprint

N_TURNS = 10
READINGS = ("first_label", "second_label", "third_label")
ABOUT = (
    "These turns are not part of the round, and nothing you choose here is kept. They were written "
    "for practice; each has the label that language models gave it in three separate readings of "
    "the guide. Where you see a turn differently, read the guide again, then trust yourself."
)


class PracticeTurn(TypedDict):
    """A turn as the annotation page shows it, with its known label."""

    conversation: list[dict[str, str]]
    turn: str
    label: str


def practice_turns(path: str | Path, labels: Sequence[str]) -> list[PracticeTurn]:
    """Return ten English turns, each after a conversation of its own and as many of each label.

    Nobody chooses them: of each label those that rank first by a hash, of turns on whose label all
    readings agree; the order is that of the hash, too.

    Args:
        path: `data/labelled/turns.jsonl`; its README describes the columns.
        labels: the rubric's labels; turns of others are left out.
    """
    rows = pl.read_ndjson(path).to_dicts()
    ranked = sorted(filter(_is_clear, rows), key=_rank)
    chosen: list[Mapping[str, Any]] = []
    while len(chosen) < N_TURNS and (row := _next(ranked, chosen, labels)):
        chosen.append(row)
    return [_shown(row) for row in sorted(chosen, key=_rank)]


def _is_clear(row: Mapping[str, Any]) -> bool:
    """Return whether a turn has one label by all readings, and no token that a round would hide."""
    is_plain = row["language"] == "en" and "<|" not in row["turn"]
    return is_plain and len({row[name] for name in READINGS}) == 1


def _rank(row: Mapping[str, Any]) -> str:
    return fingerprint(["practice", row["id"]])


def _next(
    ranked: Sequence[Mapping[str, Any]], chosen: Sequence[Mapping[str, Any]], labels: Sequence[str]
) -> Mapping[str, Any] | None:
    """Return the first turn of the label that was chosen least often, after a new conversation."""
    n_of = Counter(row["label"] for row in chosen)
    used = {row["conversation"] for row in chosen}
    free = [r for r in ranked if r["conversation"] not in used and r["label"] in labels]
    return min(free, key=lambda row: (n_of[row["label"]], labels.index(row["label"])), default=None)


def _shown(row: Mapping[str, Any]) -> PracticeTurn:
    said = [{"role": str(m["role"]), "text": str(m["content"])} for m in row["messages"]]
    return {"conversation": said, "turn": row["turn"], "label": row["label"]}
