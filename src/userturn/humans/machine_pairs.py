"""Pairs of turns after one answer for a judge to tell apart: a model's and a person's, controls.

The controls are of one kind, two people's turns or two of a model's, so that there is nothing to
tell: in both orders together either one is chosen as often as the other.

MirrorBench's pairs, which people labelled, are of a person's conversation and a simulated user's.
Its repository (github.com/SAP/mirrorbench, Apache-2.0) has them below scratch_pad/human_corr/runs.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from userturn.datasets.messages import answer_to
from userturn.errors import UserError
from userturn.humans.blinding import neutral
from userturn.humans.pairs import paired_turns
from userturn.judges.tell_apart import Pair
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import ITEM_KEYS, TURN_KEYS

WITH_A_PERSON, TWO_PEOPLE, TWO_OF_A_MODEL = (
    "a model's and a person's",
    "two people's",
    "two of a model's",
)


class ToTellApart(NamedTuple):
    """A pair, what it is of, and its conversation; `model` is empty where people wrote both."""

    kind: str
    model: str
    conversation: str
    pair: Pair


def pairs_of_models(
    turns: pl.DataFrame, people: pl.DataFrame, tokens: Sequence[str]
) -> Iterator[ToTellApart]:
    """Yield a model's turns beside the person's, and beside others of the same model.

    Two of a model's stand after the same answer, in other samples or at other temperatures.

    Args:
        turns: user turns after the datasets' own answers, with `answer` and `text`.
        people: the result of `paired_turns.people_turns`.
        tokens: special tokens of the models, which the judge does not see.
    """
    usable = paired_turns(turns, people, tokens).filter(pl.col("left_out").is_null())
    texts = turns.select(*TURN_KEYS, "key", "answer", "text")
    said = people.drop("conversation")
    rows = (
        usable.join(texts, on=[*TURN_KEYS, "key"], maintain_order="left")
        .join(said, on=ITEM_KEYS, maintain_order="left")
        .rows(named=True)
    )
    first: dict[tuple[str, str, str], str] = {}  # a model's text by its place
    for row in rows:
        text = neutral(row["text"], tokens, is_turn=True)
        person = neutral(row["reference_user_turn"], tokens, is_turn=True)
        place = row["model"], row["conversation"]
        yield ToTellApart(WITH_A_PERSON, *place, Pair(row["messages"], row["answer"], text, person))
        other = first.setdefault((row["model"], row["dataset"], row["item"]), text)
        if other != text:
            pair = Pair(row["messages"], row["answer"], other, text)
            yield ToTellApart(TWO_OF_A_MODEL, *place, pair)


def pairs_of_people(
    items: pl.DataFrame, people: pl.DataFrame, tokens: Sequence[str]
) -> Iterator[ToTellApart]:
    """Yield the turns that two people wrote after the same answer, of the items that have such.

    Args:
        items: `dataset`, `item`, `messages` and `reference_context` of the datasets.
        people: the result of `paired_turns.people_turns`.
        tokens: special tokens of the models, which the judge does not see.
    """
    both = people.drop("messages").join(items, on=ITEM_KEYS, maintain_order="left")
    first: dict[str, str] = {}
    for row in both.iter_rows(named=True):
        said = neutral(row["reference_user_turn"], tokens, is_turn=True)
        other = first.setdefault(fingerprint(row["reference_context"]), said)
        answer = answer_to(row["messages"], row["reference_context"])
        if other != said and answer is not None:
            pair = Pair(row["messages"], answer, other, said)
            yield ToTellApart(TWO_PEOPLE, "", row["conversation"], pair)


def drawn(pairs: Sequence[ToTellApart], n_pairs: int) -> list[ToTellApart]:
    """Return at most so many pairs of each kind and model, each of a conversation of its own.

    The order is that of a hash of the texts, so more pairs keep those of fewer.
    """
    found: list[ToTellApart] = []
    counts: dict[tuple[str, str], int] = {}
    seen: set[tuple[str, str, str]] = set()
    for one in sorted(pairs, key=fingerprint):
        group = one.kind, one.model
        if (*group, one.conversation) in seen or counts.get(group, 0) >= n_pairs:
            continue
        seen.add((*group, one.conversation))
        counts[group] = counts.get(group, 0) + 1
        found.append(one)
    return found


LABELLED, TRUTH = "pi_pairwise_labeled.json", "pi_pairwise_judge_scores.json"
SLOTS = {"A": "conversation_a", "B": "conversation_b"}


class LabelledPair(NamedTuple):
    """What the user says first in two conversations, the simulated user's as `one`.

    Attributes:
        pair: both texts, after nothing.
        people_take_one: whether people took the simulated user for the person; None for a tie.
        name: of the conversation.
    """

    pair: Pair
    people_take_one: bool | None
    name: str


def read_mirrorbench(folder: Path) -> list[LabelledPair]:
    """Return the labelled pairs in a folder of a run, in their order.

    Raises:
        UserError: a file is missing, or has another shape.
    """
    try:
        labelled, scored = (json.loads((folder / name).read_bytes()) for name in (LABELLED, TRUTH))
        simulated = {row["sample_id"]: row["ground_truth_synthetic_slot"] for row in scored}
        return [_pair(row, simulated[row["sample_id"]]) for row in labelled]
    except OSError as error:
        raise UserError(
            f"'{error.filename}' cannot be read; expected a folder of MirrorBench's "
            f"scratch_pad/human_corr/runs, which has {LABELLED} and {TRUTH}"
        ) from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(
            f"'{folder}' has no pairs as MirrorBench publishes them ({error!r}); expected "
            f"sample_id, conversation_a, conversation_b and human_label in {LABELLED}, and "
            f"ground_truth_synthetic_slot in {TRUTH}"
        ) from None


def _pair(row: dict[str, Any], slot: str) -> LabelledPair:
    other = next(name for name in SLOTS if name != slot)
    one, person = (_first_said(row[SLOTS[name]]) for name in (slot, other))
    label = row["human_label"]
    taken = label == slot if label in SLOTS else None
    return LabelledPair(Pair([], "", one, person), taken, row["sample_id"])


def _first_said(conversation: list[dict[str, str]]) -> str:
    return str(next(turn["content"] for turn in conversation if turn["role"] == "user"))
