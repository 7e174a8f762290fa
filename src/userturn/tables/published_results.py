"""The published results of arXiv:2604.02315, and where a study has the same quantity.

Only the abstract, fragments of the appendix, and digests by others could be read. Where the paper
has words and no number, the criterion is ours and marked as such. `anchor_evidence` finds the
study's result, and `anchor_rules` decides the outcome.
"""

from collections.abc import Callable
from typing import NamedTuple

from userturn.tables import anchor_evidence as evidence
from userturn.tables.anchor_evidence import Found
from userturn.tables.anchor_rules import MARGIN
from userturn.tables.make_tables import Tables

ABSTRACT, APPENDIX, DIGEST = "abstract", "appendix, quoted", "digest"  # where a claim was read


class Anchor(NamedTuple):
    """One published result: where it was read, what counts as agreement, how to find ours."""

    quantity: str
    published: str
    source: str
    criterion: str
    find: Callable[[Tables], Found]
    is_judged: bool = True  # whether it depends on a judge's verdicts


POINTS = f"{100 * MARGIN:g} points"
SHARE = f"ours: the 95% interval lies within {POINTS} of the published value; outside: differs"
RISES = f"ours: both intervals are above 0; one below {POINTS} and not above 0: differs"
ANCHORS = [
    Anchor(
        "grid", "11 models, 5 datasets", ABSTRACT, "the same numbers", evidence.size_of_study, False
    ),
    Anchor(
        "GSM8K accuracy of Qwen3.5-0.8B",
        "41%",
        ABSTRACT,
        SHARE,
        evidence.accuracy("qwen3.5-0.8b", 0.41, 0.005),
        False,
    ),
    Anchor(
        "GSM8K accuracy of Qwen3.5-397B-A17B",
        "96.8%",
        ABSTRACT,
        SHARE,
        evidence.accuracy("qwen3.5-397b-a17b", 0.968, 0.0005),
        False,
    ),
    Anchor(
        "follow-up of Qwen3.5, deterministic",
        "near zero at every size",
        ABSTRACT,
        f"ours: every model's interval is below {MARGIN:.0%}; one above it: differs",
        evidence.near_zero,
    ),
    Anchor(
        "highest follow-up of Qwen3.5 when sampled",
        "22%",
        ABSTRACT,
        SHARE + "; an interval of the highest of all cells",
        evidence.highest_when_sampled,
    ),
    Anchor(
        "follow-up over size",
        "a larger model is not always more aware",
        DIGEST,
        "ours: the greedy rate does not rise from the smallest to the largest Qwen3.5: the "
        f"interval of that rise is not above 0, and below {POINTS}; above 0: differs",
        evidence.larger_is_not_better,
    ),
    Anchor(
        "share of assistant_turn_restate of gpt-oss", "70.2%", APPENDIX, SHARE, evidence.restating
    ),
    Anchor(
        "perturbations, gpt-oss",
        "both raise follow-up",
        DIGEST,
        RISES,
        evidence.perturbations("gpt-oss", True),
    ),
    Anchor(
        "perturbations, GLM",
        "both raise follow-up",
        DIGEST,
        RISES,
        evidence.perturbations("glm", True),
    ),
    Anchor(
        "perturbations, Qwen3.5",
        "neither raises follow-up",
        DIGEST,
        f"ours: no interval is above 0, and both are below {POINTS}; one above 0: differs",
        evidence.perturbations("qwen3.5", False),
    ),
    Anchor(
        "post-training of Qwen3.5-2B",
        "SFT and RL raise follow-up",
        DIGEST,
        RISES,
        evidence.post_training,
    ),
]
