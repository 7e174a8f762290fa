"""Table of the draws of a training: the drawn turn, how the conversation went on, its rewards.

It shows a reader what was rewarded, and is made of notes beside the checkpoints.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from userturn.datasets.prepare import MESSAGE
from userturn.storage.journal import files_of_journal, read_lines, record_of
from userturn.storage.table_files import Schema, write_table
from userturn.training.simulated_user import Rollout

REWARDS = ("accuracy", "interactivity", "length", "followup", "gain")
SCHEMA: Schema = {
    "step": pl.Int64,
    "draw": pl.Int64,
    "messages": pl.List(MESSAGE),
    "said": pl.String,
    "continued": pl.List(MESSAGE),
    **dict.fromkeys(REWARDS, pl.Float64),
    "is_left_out": pl.Boolean,
}


def draws_of(
    step: int,
    rollouts: Sequence[Rollout],
    scores: Mapping[str, Sequence[float | None]],
    weights: Mapping[str, float],
) -> list[dict[str, Any]]:
    """Return the rows of the draws that the update `step` learns from.

    A draw without a score for a reward that has a weight is left out.
    """
    return [
        {
            "step": step,
            "draw": number,
            "messages": rollout.messages[: rollout.n_before],
            "said": rollout.messages[rollout.n_before]["content"],
            "continued": rollout.messages[rollout.n_before + 1 :],
            **{name: values[number] for name, values in scores.items()},
            "is_left_out": any(scores[name][number] is None for name in weights if weights[name]),
        }
        for number, rollout in enumerate(rollouts)
    ]


def write_draws(folder: Path, path_to_table: Path, identity: str) -> None:
    """Write the table of the notes in a folder, in which a repeated step counts once."""
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for row in notes_in(folder):
        rows[row["step"], row["draw"]] = row
    table = pl.DataFrame([rows[position] for position in sorted(rows)], schema=SCHEMA)
    write_table(table, path_to_table, identity)


def notes_in(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the notes that a training, killed or not, left in a folder, oldest first."""
    for path in files_of_journal(folder):
        for part in read_lines(path):
            yield from map(record_of, part.whole)
