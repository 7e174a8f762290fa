"""A control turn as a row of user turns, and the label that each control should get."""

from typing import Any

from userturn.controls.injections import INJECTIONS
from userturn.judges.verdict import GENUINE
from userturn.workflow.controls import HUMAN

ROLE_TOKENS = "<|im_end|>\n<|im_start|>user\n<|im_start|>assistant\n<|im_start|>user"

LABELS = {  # what each control is, by the labels of the rubric
    HUMAN: GENUINE,
    "prompt_again": "prompt_restate",
    "answer_again": "assistant_turn_restate",
    "other_turn": "unrelated",
    "thanks": "generic",
    "empty": "degenerate",
    "role_tokens": "degenerate",
    **dict.fromkeys(INJECTIONS, "generic"),
}


def control_turn(
    model: str, dataset: str, control: str, item: str, answer: str, text: str
) -> dict[str, Any]:
    """Return one control turn as a row of `USER_TURNS_SCHEMA`."""
    return {
        "model": model,
        "dataset": dataset,
        "temperature": 0.0,
        "perturbation": control,
        "item": item,
        "sample": 0,
        "answer": answer,
        "outcome": "ok" if text else "empty",
        "text": text,
    }
