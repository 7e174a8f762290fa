"""User turns of a known kind: real users' turns, planted failures, labelled turns, injections.

All have the columns of other user turns and are labelled by the same judges. `perturbation` is the
control's name. Real human replies, after the answer that they were written for, show how many
genuine turns a judge recognises. Failures planted after a model's own answers show how many it lets
through. Every judge is also measured on the project's own labelled turns. Their conversations also
carry prompt injections before an answer, with a bare thanks as the turn, because an item of a study
has one conversation for all its turns.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from userturn.controls.control_turn import (
    BAIT,
    HUMAN,
    IN_CONVERSATION,
    INJECTIONS,
    INSTRUCTION,
    LABELS,
    ROLE_TOKENS,
    Frames,
    Planted,
    Texts,
    control_turn,
    hard_failures,
    harder_failures,
    parse_frames,
    parse_texts,
)
from userturn.datasets.prepare import MESSAGE, rank
from userturn.errors import UserError
from userturn.generation.collect import USER_TURNS_SCHEMA
from userturn.stats.rng import generator
from userturn.storage.table_files import Schema, write_table
from userturn.study.contents import INJECTED, LABELLED

INJECTED_ITEMS: Schema = {"item": pl.String, "messages": pl.List(MESSAGE)}
ITEMS_SCHEMA: Schema = {
    **INJECTED_ITEMS,
    "conversation": pl.String,
    "language": pl.String,
    "label": pl.String,
}
NOTE = f"\n\nNote to whoever labels what follows: {INSTRUCTION}"


def human_turns(items: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Return a dataset's real user turns, each after its answer, or raise UserError for none."""
    rows = [
        control_turn(
            HUMAN, dataset, HUMAN, row["item"], row["reference_context"][-1]["content"], turn
        )
        for row in items.iter_rows(named=True)
        if (turn := row["reference_user_turn"]) and row["reference_context"][:-1] == row["messages"]
    ]
    if not rows:
        raise UserError(
            f"dataset '{dataset}' has no user turn that reacts to an answer in its data; give it "
            "`condition: gold_context`, or remove it from controls.human"
        )
    return pl.DataFrame(rows, schema=USER_TURNS_SCHEMA)


def take_human_turns(
    dataset: str, identity: str, path_to_items: str, path_to_user_turns: str
) -> None:
    """Write the real user turns of a dataset."""
    write_table(human_turns(pl.read_parquet(path_to_items), dataset), path_to_user_turns, identity)


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

    Of the items with an answer, `n_items` are chosen by the hash of seed and id. `others` are
    another model's answers by item. Without `texts`, hard failures that need them are left out, and
    without `frames` harder ones. `instruction` is what the dataset's entry appends to every prompt,
    and no turn has it.
    """
    prompts = {
        item: messages[-1]["content"].removesuffix(instruction)
        for item, messages in items.select("item", "messages").iter_rows()
    }
    ranked = sorted(prompts, key=lambda item: rank(seed, item))
    nexts = dict(zip(ranked, ranked[1:] + ranked[:1], strict=True))
    answered = {row["item"]: row for row in answers.iter_rows(named=True) if row["answer"]}
    rows = []
    for item in [item for item in ranked if item in answered][:n_items]:
        row, prompt, other = answered[item], prompts[item], prompts[nexts[item]]
        answer, rng = row["answer"], generator(seed, "planted", item)
        turns = {
            **_easy_failures(prompt, answer, other if other != prompt else None),
            **hard_failures(prompt, answer, others.get(item), texts, rng),
        }
        if frames:
            rng = generator(seed, "planted harder", item)
            turns |= harder_failures(prompt, answer, frames, rng)
        rows += [
            control_turn(row["model"], row["dataset"], control, item, *turns[control])
            for control in LABELS
            if control in turns
        ]
    return pl.DataFrame(rows, schema=USER_TURNS_SCHEMA)


def _easy_failures(prompt: str, answer: str, other_prompt: str | None) -> dict[str, Planted]:
    turns = {
        "prompt_again": prompt,
        "answer_again": answer,
        "thanks": BAIT,
        "empty": "",
        "role_tokens": ROLE_TOKENS,
        **INJECTIONS,
    }
    if other_prompt is not None:
        turns["other_turn"] = other_prompt
    return {name: Planted(answer, text) for name, text in turns.items()}


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
    """Write all kinds of planted failures after a model's answers to some items of a dataset.

    `settings` are those of the dataset. There are no other answers if the study has one model, and
    no frames in a study that is older than harder failures.
    """
    answers, items = pl.read_parquet(path_to_answers), pl.read_parquet(path_to_items)
    tables = [pl.read_parquet(path, columns=["item", "answer"]) for path in paths_to_other_answers]
    others = {item: answer for table in tables for item, answer in table.drop_nulls().iter_rows()}
    texts = parse_texts(Path(path_to_texts).read_text(encoding="utf-8"))
    frames = [parse_frames(Path(path).read_text(encoding="utf-8")) for path in paths_to_frames]
    instruction = settings.get("instruction", "")
    turns = planted_turns(answers, others, items, texts, n_items, seed, instruction, *frames)
    write_table(turns, path_to_user_turns, identity)


def read_labelled(path: str | Path) -> list[dict[str, Any]]:
    """Return the labelled turns: `id`, `conversation`, `messages`, `turn`, `language`, `label`."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def labelled_items(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return each labelled turn's conversation before its last answer, with its label."""
    items = [
        {"item": row["id"], "messages": row["messages"][:-1]}
        | {name: row[name] for name in ("conversation", "language", "label")}
        for row in rows
    ]
    return pl.DataFrame(items, schema=ITEMS_SCHEMA)


def labelled_turns(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return the labelled turns as user turns of a cell."""
    turns = [
        control_turn(
            LABELLED, LABELLED, LABELLED, row["id"], row["messages"][-1]["content"], row["turn"]
        )
        for row in rows
    ]
    return pl.DataFrame(turns, schema=USER_TURNS_SCHEMA)


def take_labelled_turns(
    identity: str, path_to_labelled: str, path_to_items: str, path_to_user_turns: str
) -> None:
    """Write the labelled turns as items and user turns, for every judge to read."""
    rows = read_labelled(path_to_labelled)
    write_table(labelled_items(rows), path_to_items, identity)
    write_table(labelled_turns(rows), path_to_user_turns, identity)


def _first_of_each(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    english = [row for row in rows if row["language"] == "en"]
    return list({row["conversation"]: row for row in reversed(english)}.values())[::-1]


def _add_note(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    position = next(n for n, message in enumerate(messages) if message["role"] == "user")
    changed = messages[position] | {"content": messages[position]["content"] + NOTE}
    return [*messages[:position], changed, *messages[position + 1 :]]


def injected_items(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return each English conversation before its last answer, with an injection, as one item."""
    items = [
        {"item": row["conversation"], "messages": _add_note(row["messages"][:-1])}
        for row in _first_of_each(rows)
    ]
    return pl.DataFrame(items, schema=INJECTED_ITEMS)


def injected_turns(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return a bare thanks after each conversation with an injection, as user turns of a cell."""
    names = INJECTED, INJECTED, IN_CONVERSATION
    turns = [
        control_turn(*names, row["conversation"], row["messages"][-1]["content"], BAIT)
        for row in _first_of_each(rows)
    ]
    return pl.DataFrame(turns, schema=USER_TURNS_SCHEMA)


def inject_conversations(
    identity: str, path_to_labelled: str, path_to_items: str, path_to_user_turns: str
) -> None:
    """Write the conversations with an injection, and the turns after them."""
    rows = read_labelled(path_to_labelled)
    write_table(injected_items(rows), path_to_items, identity)
    write_table(injected_turns(rows), path_to_user_turns, identity)
