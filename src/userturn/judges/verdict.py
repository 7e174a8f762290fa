"""What a judge decides about a user turn: a label of the rubric, or why that stayed open."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

GENUINE = "genuine_followup"
ERROR = "judge error: "  # how the reason of a verdict begins that another attempt may bring


class UserTurn(NamedTuple):
    """One user turn with its conversation.

    Attributes:
        messages: the conversation, the last message the user's.
        answer: the answer as the model was shown it.
        text: what the model wrote as the user.
    """

    messages: Sequence[Mapping[str, str]]
    answer: str
    text: str


class Verdict(NamedTuple):
    """One judge's decision on one user turn; label and genuine are None if it is unscored."""

    label: str | None
    rationale: str | None
    unscored_reason: str | None = None
    probabilities: Mapping[str, float] | None = None

    @property
    def genuine(self) -> bool | None:
        """Whether the turn is a genuine follow-up."""
        return None if self.label is None else self.label == GENUINE


def verdict_schema(labels: Sequence[str], rationale_characters: int | None) -> dict[str, Any]:
    """Return the JSON Schema of a verdict: rationale, label, genuine, in this order."""
    rationale: dict[str, Any] = {"type": "string"}
    if rationale_characters is not None:
        rationale["maxLength"] = rationale_characters
    properties = {
        "rationale": rationale,
        "label": {"type": "string", "enum": list(labels)},
        "genuine": {"type": "boolean"},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
