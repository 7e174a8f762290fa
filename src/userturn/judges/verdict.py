"""What a judge decides about a user turn: a label of the rubric, or why that stayed open."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

GENUINE = "genuine_followup"
# Of rubric 2: careful readers could differ on whether it is genuine. To force a choice there biases
# what is said of a judge (rating indeterminacy: Guerdan et al., NeurIPS 2025).
ARGUABLE = "arguable_followup"
ERROR = "judge error: "  # beginning of the reason if another attempt may succeed


class UserTurn(NamedTuple):
    """One user turn with its conversation."""

    messages: Sequence[Mapping[str, str]]  # the conversation, the last message the user's
    answer: str  # the answer as the model was shown it
    text: str  # what the model wrote as the user


class Verdict(NamedTuple):
    """One judge's decision on one user turn, with None as label and genuine if unscored."""

    label: str | None
    rationale: str | None
    unscored_reason: str | None = None
    probabilities: Mapping[str, float] | None = None

    @property
    def genuine(self) -> bool | None:
        """Whether the turn is a genuine follow-up, or None if unscored."""
        return None if self.label is None else self.label == GENUINE


def together(draws: Sequence[Verdict]) -> Verdict:
    """Return the verdict with the most frequent label of several draws, the first one in a tie.

    If a draw ended in an error, the first such draw is returned, since another attempt may succeed.
    If all draws are unscored, so is the verdict.
    """
    errors = [v for v in draws if (v.unscored_reason or "").startswith(ERROR)]
    labels = [v.label for v in draws if v.label is not None]
    if len(draws) == 1 or errors or not labels:
        return [*errors, *draws][0]
    most = max(labels, key=labels.count)
    chosen = next(v for v in draws if v.label == most)
    rationale = f"{labels.count(most)} of {len(draws)} draws: {chosen.rationale}"
    return chosen._replace(rationale=rationale)


def verdict_schema(labels: Sequence[str], rationale_characters: int | None) -> dict[str, Any]:
    """Return the JSON Schema of a verdict, with rationale, label and genuine in this order."""
    rationale: dict[str, Any] = {"type": "string"}
    if rationale_characters is not None:  # Anthropic's newer models refuse a schema with it
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
