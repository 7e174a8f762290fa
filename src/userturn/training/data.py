"""Training data: conversations of one schema, from our own files or CollabLLM's.

Prepared tables have one row per conversation: `conversation` (id), `messages` (list of role and
content), `reference_answer` (for the reward `accuracy`), `goal` (what a simulated user wants), and
`source`. The two before `source` may be null.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from userturn.config.recipes import Recipe
from userturn.datasets.fetch import fetch
from userturn.datasets.messages import Message, conversation, unpacked
from userturn.datasets.prepare import MESSAGE
from userturn.datasets.rows import Row, read_rows
from userturn.errors import UserError
from userturn.models.fetch import COMMIT
from userturn.storage.files import write_text
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import Schema, write_table

SCHEMA: Schema = {
    "conversation": pl.String,
    "messages": pl.List(MESSAGE),
    "reference_answer": pl.String,
    "goal": pl.String,
    "source": pl.String,
}
COLUMNS = {
    "messages": ("messages",),
    "collabllm": ("conv_id", "turn_id", "prompt", "completion", "score"),
}

BOXED = "\\boxed{"

Numbered = Iterable[tuple[str, Row]]


def _check_columns(row: Row, where: str, file_format: str) -> None:
    missing = [name for name in COLUMNS[file_format] if name not in row]
    if missing:
        raise UserError(
            f"{where}: found the columns {', '.join(sorted(row))}, expected also "
            f"{', '.join(missing)} for the format '{file_format}'; correct `file` or `format`"
        )


def _spoken(messages: Any, where: str) -> list[Message]:
    """Return messages that can be learnt, all with text and at least one by each role."""
    messages_read = conversation(messages, where)
    roles = [message["role"] for message in messages_read]
    if "assistant" not in roles or "user" not in roles:
        raise UserError(f"{where}: found no answer to a user; correct or remove that row")
    if not all(message["content"].strip() for message in messages_read):
        raise UserError(f"{where}: a message has no text; correct or remove that row")
    return messages_read


def final_answer(solution: str | None) -> str | None:
    r"""Return the content of the last \boxed{} in a solution, else the whole solution."""
    if solution is None or BOXED not in solution:
        return solution
    rest = solution.rpartition(BOXED)[2]
    depth = 1
    for position, character in enumerate(rest):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return rest[:position]
    return solution


def from_messages(rows: Numbered, settings: Mapping[str, Any]) -> list[Row]:
    """Return one conversation per row with `messages` and optional `id`, `answer` and `goal`."""
    conversations = []
    for where, row in rows:
        _check_columns(row, where, "messages")
        messages = _spoken(row["messages"], where)
        conversations.append(
            {
                "conversation": str(row.get("id") or fingerprint(messages)[:16]),
                "messages": messages,
                "reference_answer": row.get("answer"),
                "goal": row.get("goal"),
            }
        )
    return conversations


def from_collabllm(rows: Numbered, settings: Mapping[str, Any]) -> list[Row]:
    """Return CollabLLM's conversations, each from its row with the latest turn and best score.

    Wu et al. 2025 (arXiv:2502.00640) make their data for supervised fine-tuning in this way. The
    goal is the problem of the conversation, and the reference is the problem's final answer. Rows
    below `minimum_accuracy` in the settings are left out.
    """
    best: dict[str, tuple[Any, Row]] = {}
    for where, row in rows:
        _check_columns(row, where, "collabllm")
        accuracy = (unpacked(row.get("rewards")) or {}).get("accuracy")
        if accuracy is not None and accuracy < settings.get("minimum_accuracy", 0):
            continue
        answered = [*row["prompt"], {"role": "assistant", "content": row["completion"]}]
        name = str(row["conv_id"])
        turns = {
            "conversation": name,
            "messages": _spoken(answered, where),
            "reference_answer": final_answer(row.get("single_turn_completion")),
            "goal": row.get("single_turn_prompt"),
        }
        rank = (row["turn_id"], row["score"] or 0.0, row["completion"])
        if name not in best or rank > best[name][0]:
            best[name] = rank, turns
    return [row for _, row in best.values()]


FORMATS: dict[str, Callable[[Numbered, Mapping[str, Any]], list[Row]]] = {
    "messages": from_messages,
    "collabllm": from_collabllm,
}


def _read_part(part: Mapping[str, Any], pins: dict[str, str]) -> list[Row]:
    """Return a file's conversations with their source, and add a branch's commit to the pins."""
    branch = f"{part.get('hub')}@{part.get('revision')}"
    settings = dict(part) | ({"revision": pins[branch]} if branch in pins else {})
    path, source = fetch(settings), str(part["file"])
    if "hub" in part:
        # A file in the hub's cache is in a folder that has the commit's name.
        commits = [name for name in path.parts if COMMIT.fullmatch(name)]
        pins[branch] = commits[-1] if commits else settings["revision"]
        source = f"{part['hub']}@{pins[branch]}"
    rows = FORMATS[part["format"]](read_rows(path), settings)
    return [row | {"source": source} for row in rows]


def prepare_training_data(
    recipe: Recipe, identity: str, path_to_pins: str | Path, path_to_data: str | Path
) -> None:
    """Write a recipe's conversations, each once, and the commit of each branch to the file of pins.

    A branch that the file of pins has already is read at that commit.

    Raises:
        UserError: a file is not available, lacks columns of its format, or no conversation is left.
    """
    pinned = Path(path_to_pins)
    pins = json.loads(pinned.read_text()) if pinned.is_file() else {}
    rows = [row for part in recipe["data"] for row in _read_part(part, pins)]
    table = pl.DataFrame(rows, schema=SCHEMA).unique("messages", keep="first", maintain_order=True)
    if not table.height:
        raise UserError("the recipe's files have no conversation; correct `data` in the recipe")
    if pins:
        write_text(json.dumps(pins, indent=1, sort_keys=True) + "\n", pinned)
    write_table(table.sort("source", "conversation"), path_to_data, identity)
