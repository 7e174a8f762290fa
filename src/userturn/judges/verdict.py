"""What a judge decides about a user turn: a label of the rubric, or why that stayed open."""

from typing import NamedTuple

GENUINE = "genuine_followup"
REFUSED = "the judge refused"  # as the reason of a verdict that is not there


class Verdict(NamedTuple):
    """One judge's decision on one user turn; label and genuine are None where it stayed open."""

    label: str | None
    rationale: str | None
    unscored_reason: str | None = None

    @property
    def genuine(self) -> bool | None:
        """Whether the turn is a genuine follow-up."""
        return None if self.label is None else self.label == GENUINE
