"""Collect one depth of self-play from the journal: conversations, answers and user turns."""

from collections.abc import Iterator, Sequence

import polars as pl

from userturn.generation.collect import answers_of, user_turns_of, within_error_share
from userturn.generation.self_play import READ, continued
from userturn.sources.self_play import Depth, depth_identity
from userturn.sources.source import ANSWERS
from userturn.storage.parquet import write_parts, write_table
from userturn.study.finished_requests import swept_again_if_lost
from userturn.study.grid import Grid


def conversations_at(at: Depth, before: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Return the conversations up to a depth's answers.

    Args:
        at: the depth.
        before: the conversations up to the answers of the depth before it.
        turns: the user turns of the depth before it.
    """
    return continued(before, turns, at.before.depth)


def answers_at(
    grid: Grid, at: Depth, outcomes: pl.DataFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the table of a depth's answers, a part at a time (`collect.answers_of`)."""
    identity = depth_identity(grid, at, ANSWERS)
    return answers_of(grid, at.model, at.dataset, outcomes, identity)


def user_turns_at(
    grid: Grid, at: Depth, outcomes: pl.DataFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the table of a depth's user turns, a part at a time (`collect.user_turns_of`)."""
    return user_turns_of(grid, at.cell, outcomes, depth_identity(grid, at))


def collect_self_play(
    grid: Grid,
    at: Depth,
    paths_before: Sequence[str],
    path_to_conversations: str,
    path_to_answers: str,
    path_to_user_turns: str,
) -> None:
    """Write one depth of self-play from the journal and the depth before it.

    Args:
        grid: the study's grid.
        at: the depth.
        paths_before: the conversations, then the user turns, of the depth before it.
        path_to_conversations: output file of the conversations up to its answers.
        path_to_answers: output file of its answers.
        path_to_user_turns: output file of its user turns.
    """
    path_to_conversations_before, path_to_turns_before = paths_before
    identity, share = depth_identity(grid, at), grid.config["max_error_share"]
    before = pl.read_parquet(path_to_conversations_before)
    turns = pl.read_parquet(path_to_turns_before, columns=["sample", *READ])
    write_table(conversations_at(at, before, turns), path_to_conversations, identity)
    with swept_again_if_lost(grid, at.model):
        answers = within_error_share(answers_at(grid, at), share, f"answers of {at.folder}")
        write_parts(answers, path_to_answers, depth_identity(grid, at, ANSWERS))
        written = within_error_share(user_turns_at(grid, at), share, at.folder)
        write_parts(written, path_to_user_turns, identity)
