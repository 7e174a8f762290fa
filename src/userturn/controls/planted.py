"""Controls: user turns of a known kind, labelled by the same judges as the models' own.

Real human replies after the answer that they were written for show what a judge recognises at best;
failures planted after a model's own answers show what it lets through. Both have the columns of
other user turns; `perturbation` is the control's name.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from userturn.controls.control_turn import LABELS, ROLE_TOKENS, control_turn
from userturn.controls.injections import INJECTIONS
from userturn.datasets.prepare import rank
from userturn.generation.collect import USER_TURNS_SCHEMA
from userturn.storage.parquet import write_table


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
        answers: the model's answers to the dataset; items without one are skipped.
        items: the dataset's prepared table.
        n_items: how many items to use, chosen by the hash of seed and id.
        seed: of the choice.
        instruction: what the dataset's entry appends to every prompt; left out of planted turns.
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
            control_turn(row["model"], row["dataset"], control, item, row["answer"], turns[control])
            for control in LABELS
            if control in turns
        ]
    return pl.DataFrame(rows, schema=USER_TURNS_SCHEMA)


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
