"""Controls: user turns of a known kind, put before the same judges as the models' own.

Real human replies to the answer that they were written for show what a judge can see at best;
failures planted after a model's own answers show what it lets through. Both have the columns of
any user turns; `perturbation` holds the control's name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from userturn.controls.injections import INJECTIONS
from userturn.datasets.prepare import rank
from userturn.errors import UserError
from userturn.generation.plan_files import PLAN_SCHEMA
from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import wilson
from userturn.storage.journal_table import OUTCOME_SCHEMA
from userturn.storage.parquet import Schema, write_csv, write_table
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
CONTROLS_SCHEMA: Schema = {
    "control": pl.String,
    "label": pl.String,
    "dataset": pl.String,
    "judge": pl.String,
    "n_turns": pl.Int64,
    "n_scored": pl.Int64,
    "n_unscored": pl.Int64,
    "n_genuine": pl.Int64,
    "n_right": pl.Int64,
    "n_same_label": pl.Int64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "coverage": pl.Float64,
}
ALL = "all"  # the row over all datasets


def _user_turn(
    model: str, dataset: str, control: str, item: str, answer: str, text: str
) -> dict[str, Any]:
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


def human_turns(items: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Return the real user turns of a dataset, each after the answer that it reacts to.

    Raises:
        UserError: no item ends where its reference begins.
    """
    rows = [
        _user_turn(
            HUMAN, dataset, HUMAN, row["item"], row["reference_context"][-1]["content"], turn
        )
        for row in items.iter_rows(named=True)
        if (turn := row["reference_user_turn"]) and row["reference_context"][:-1] == row["messages"]
    ]
    if not rows:
        raise UserError(
            f"dataset '{dataset}' has no user turn that reacts to an answer in its data; give it "
            "`condition: gold_context`, or take it out of controls.human"
        )
    return pl.DataFrame(rows, schema=USER_TURNS_SCHEMA)


def plant(prompt: str, answer: str, other_prompt: str | None) -> dict[str, str]:
    """Return one turn of every known failure after an answer, by the control's name."""
    turns = {
        "prompt_again": prompt,
        "answer_again": answer,
        "thanks": "Thanks!",
        "empty": "",
        "role_tokens": ROLE_TOKENS,
        **INJECTIONS,
    }
    return turns if other_prompt is None else turns | {"other_turn": other_prompt}


def planted_turns(
    answers: pl.DataFrame, items: pl.DataFrame, n_items: int, seed: int, instruction: str
) -> pl.DataFrame:
    """Return every failure after a model's answers to some items of a dataset.

    Args:
        answers: the model's answers to the dataset; only those that are there are used.
        items: the dataset's prepared table.
        n_items: how many items to use, chosen by the hash of seed and id.
        seed: of the choice.
        instruction: what the dataset's entry puts behind every prompt; no part of a planted turn.
    """
    prompts = {
        item: messages[-1]["content"].removesuffix(instruction)
        for item, messages in items.select("item", "messages").iter_rows()
    }
    ranked = sorted(prompts, key=lambda item: rank(seed, item))
    others = dict(zip(ranked, ranked[1:] + ranked[:1], strict=True))
    answered = {row["item"]: row for row in answers.iter_rows(named=True) if row["answer"]}
    rows = []
    for item in [item for item in ranked if item in answered][:n_items]:
        row, prompt, other = answered[item], prompts[item], prompts[others[item]]
        turns = plant(prompt, row["answer"], other if other != prompt else None)
        rows += [
            _user_turn(row["model"], row["dataset"], control, item, row["answer"], turns[control])
            for control in LABELS
            if control in turns
        ]
    return pl.DataFrame(rows, schema=USER_TURNS_SCHEMA)


def take_human_turns(
    dataset: str, identity: str, path_to_items: str, path_to_user_turns: str
) -> None:
    """Write the real user turns of a dataset."""
    write_table(human_turns(pl.read_parquet(path_to_items), dataset), path_to_user_turns, identity)


def plant_failures(
    settings: Mapping[str, Any],
    n_items: int,
    seed: int,
    identity: str,
    path_to_answers: str,
    path_to_items: str,
    path_to_user_turns: str,
) -> None:
    """Write every failure after a model's answers to some items of a dataset."""
    answers, items = pl.read_parquet(path_to_answers), pl.read_parquet(path_to_items)
    turns = planted_turns(answers, items, n_items, seed, settings.get("instruction", ""))
    write_table(turns, path_to_user_turns, identity)


def measure(verdicts: pl.DataFrame) -> dict[str, Any]:
    """Return how a judge did on the turns of one control: right is genuine for human ones only."""
    label = LABELS[verdicts["perturbation"][0]]
    n_scored = verdicts["genuine"].count()
    n_genuine = int(verdicts["genuine"].sum())
    n_right = n_genuine if label == GENUINE else n_scored - n_genuine
    estimate, lower, upper = wilson(n_right, n_scored)
    return {
        "control": verdicts["perturbation"][0],
        "label": label,
        "judge": verdicts["judge"][0],
        "n_turns": verdicts.height,
        "n_scored": n_scored,
        "n_unscored": verdicts.height - n_scored,
        "n_genuine": n_genuine,
        "n_right": n_right,
        "n_same_label": int((verdicts["label"] == label).sum()),
        "estimate": estimate,
        "lower": lower,
        "upper": upper,
        "coverage": n_scored / verdicts.height,
    }


def measure_judges(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return a row a control, judge and dataset, and one over all datasets."""
    everywhere = verdicts.with_columns(dataset=pl.lit(ALL))
    groups = pl.concat([everywhere, verdicts]).partition_by("perturbation", "judge", "dataset")
    rows = [{"dataset": group["dataset"][0], **measure(group)} for group in groups]
    order = {control: position for position, control in enumerate(LABELS)}
    rows.sort(key=lambda r: (r["judge"], order[r["control"]], r["dataset"] != ALL, r["dataset"]))
    return pl.DataFrame(rows, schema=CONTROLS_SCHEMA)


def tabulate_controls(
    paths_to_verdicts: Sequence[str],
    identity: str,
    path_to_controls: str,
    path_to_controls_csv: str,
) -> None:
    """Write how each judge did on each control as Parquet and CSV."""
    tables = [pl.read_parquet(path) for path in sorted(paths_to_verdicts)]
    controls = measure_judges(pl.concat(tables)) if tables else pl.DataFrame(schema=CONTROLS_SCHEMA)
    write_table(controls, path_to_controls, identity)
    write_csv(controls, path_to_controls_csv)
