"""MirrorBench's pairs, which people labelled: a person's conversation and a simulated user's.

Its repository (github.com/SAP/mirrorbench, Apache-2.0) has them below scratch_pad/human_corr/runs.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from userturn.errors import UserError
from userturn.judges.tell_apart import Pair

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
