"""The columns of control turns, and the label that each control should get."""

from typing import Any

import polars as pl

from userturn.controls.injections import INJECTIONS
from userturn.generation.plan_files import PLAN_SCHEMA
from userturn.judges.verdict import GENUINE
from userturn.storage.journal_table import OUTCOME_SCHEMA
from userturn.storage.parquet import Schema
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

USER_TURNS_SCHEMA: Schema = {
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "perturbation": pl.String,
    **{name: kind for name, kind in PLAN_SCHEMA.items() if name != "position"},
    **{name: kind for name, kind in OUTCOME_SCHEMA.items() if name not in PLAN_SCHEMA},
    "n_tokens": pl.UInt32,
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
