"""Controls: user turns of a known kind, labelled by the same judges as the models' own.

Real human replies, after the answer that they were written for, show how many genuine turns a judge
recognises; failures planted after a model's own answers show how many it lets through. Both have
the columns of other user turns; `perturbation` is the control's name.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from userturn.controls.control_turn import LABELS, ROLE_TOKENS, control_turn
from userturn.controls.failures import (
    INJECTIONS,
    Frames,
    Planted,
    Texts,
    hard_failures,
    harder_failures,
    parse_frames,
    parse_texts,
)
from userturn.datasets.prepare import rank
from userturn.generation.collect import USER_TURNS_SCHEMA
from userturn.stats.rng import generator
from userturn.storage.table_files import write_table


def easy_failures(prompt: str, answer: str, other_prompt: str | None) -> dict[str, Planted]:
    """Return a turn of each easy failure and injection after an answer, by the control's name."""
    turns = {
        "prompt_again": prompt,
        "answer_again": answer,
        "thanks": "Thanks!",
        "empty": "",
        "role_tokens": ROLE_TOKENS,
        **INJECTIONS,
    }
    if other_prompt is not None:
        turns["other_turn"] = other_prompt
    return {name: Planted(answer, text) for name, text in turns.items()}


def _last_prompts(items: pl.DataFrame, instruction: str) -> dict[str, str]:
    return {
        item: messages[-1]["content"].removesuffix(instruction)
        for item, messages in items.select("item", "messages").iter_rows()
    }


def planted_turns(
    answers: pl.DataFrame,
    others: Mapping[str, str],
    items: pl.DataFrame,
    texts: Texts | None,
    n_items: int,
    seed: int,
    instruction: str,
    frames: Frames | None = None,
) -> pl.DataFrame:
    """Return every failure after a model's answers to some items of a dataset.

    Args:
        answers: the model's answers to the dataset; items without one are skipped.
        others: another model's answers, by item.
        items: the dataset's prepared table.
        texts: the texts from which hard failures are made; None leaves out those that need them.
        n_items: number of items to use, chosen by the hash of seed and id.
        seed: seed of the choice.
        instruction: the text that the dataset's entry appends to every prompt; left out of turns.
        frames: the frames of harder failures; None in a study that is older than these.
    """
    prompts = _last_prompts(items, instruction)
    ranked = sorted(prompts, key=lambda item: rank(seed, item))
    nexts = dict(zip(ranked, ranked[1:] + ranked[:1], strict=True))
    answered = {row["item"]: row for row in answers.iter_rows(named=True) if row["answer"]}
    rows = []
    for item in [item for item in ranked if item in answered][:n_items]:
        row, prompt, other = answered[item], prompts[item], prompts[nexts[item]]
        rng = generator(seed, "planted", item)
        turns = {
            **easy_failures(prompt, row["answer"], other if other != prompt else None),
            **hard_failures(prompt, row["answer"], others.get(item), texts, rng),
        }
        if frames:
            turns |= harder_failures(
                prompt, row["answer"], frames, generator(seed, "planted harder", item)
            )
        rows += [
            control_turn(row["model"], row["dataset"], control, item, *turns[control])
            for control in LABELS
            if control in turns
        ]
    return pl.DataFrame(rows, schema=USER_TURNS_SCHEMA)


def other_answers(paths: Iterable[Path]) -> dict[str, str]:
    """Return the answers in some tables of answers, by item."""
    tables = [pl.read_parquet(path).select("item", "answer").drop_nulls() for path in paths]
    return {item: answer for table in tables for item, answer in table.iter_rows()}


def plant_failures(
    settings: Mapping[str, Any],
    n_items: int,
    seed: int,
    identity: str,
    path_to_answers: str,
    paths_to_other_answers: Sequence[str],
    path_to_items: str,
    path_to_texts: str,
    paths_to_frames: Sequence[str],
    path_to_user_turns: str,
) -> None:
    """Write every failure after a model's answers to some items of a dataset.

    Args:
        settings: settings of the dataset.
        n_items: number of items to use.
        seed: the study's seed.
        identity: identity of the output.
        path_to_answers: the model's answers.
        paths_to_other_answers: another model's answers; empty if the study has one model.
        path_to_items: the dataset's prepared table.
        path_to_texts: the texts from which hard failures are made.
        paths_to_frames: the frames of harder failures; empty in a study that is older than these.
        path_to_user_turns: output file.
    """
    answers, items = pl.read_parquet(path_to_answers), pl.read_parquet(path_to_items)
    others = other_answers(Path(path) for path in paths_to_other_answers)
    texts = parse_texts(Path(path_to_texts).read_text(encoding="utf-8"))
    frames = [parse_frames(Path(path).read_text(encoding="utf-8")) for path in paths_to_frames]
    instruction = settings.get("instruction", "")
    turns = planted_turns(answers, others, items, texts, n_items, seed, instruction, *frames)
    write_table(turns, path_to_user_turns, identity)
