"""Does every depth of self-play follow from the one before it, its plans and the journal?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import polars as pl

from userturn.audit.check_probes import own_answers
from userturn.audit.check_rows import Asked, check_asked, check_coverage
from userturn.audit.findings import Finding, Item, remake
from userturn.audit.pair import BrokenError, Pair
from userturn.audit.table_diff import Wrong
from userturn.generation.collect_self_play import answers_at, conversations_at, user_turns_at
from userturn.generation.self_play import going_on
from userturn.provenance.study_files import FAULTS
from userturn.sources.self_play import Depth, depth_identity, depths
from userturn.sources.source import ANSWERS, USER_TURNS
from userturn.storage.key_columns import ANSWER_KEYS, TURN_KEYS


def check_self_play(pair: Pair) -> Iterator[Item]:
    """Yield the faults in conversations, answers and user turns of all depths."""
    for at in depths(pair.grid):
        if (at.model, at.dataset) == (pair.model, pair.dataset):
            yield from _of_depth(pair, at)


def _of_depth(pair: Pair, at: Depth) -> Iterator[Item]:
    grid, conversations = pair.grid, at.path_to_conversations
    yield from pair.held("rows", conversations, partial(_continued, pair, at), ["item"])
    drawn = grid.answer_settings(at.model)
    answers = _asked(pair, at, ANSWERS, at.path_to_answers, "assistant", drawn)
    made = answers_at(grid, at, pair.outcomes) if pair.with_journals else None
    yield from check_asked(pair, answers, made, ANSWER_KEYS)
    drawn = grid.user_turn_settings(grid.temperatures[at.temperature])
    turns = _asked(pair, at, USER_TURNS, at.path_to_user_turns, "user", drawn)
    made = user_turns_at(grid, at, pair.outcomes) if pair.with_journals else None
    yield from check_asked(pair, turns, made, TURN_KEYS)
    for path in (at.path_to_answers, at.path_to_user_turns):
        yield from check_coverage(pair, path)
    yield from _probes(pair, at)


def _asked(pair: Pair, at: Depth, what: str, path: str, role: str, drawn: dict[str, Any]) -> Asked:
    """Return what is asked at a depth, about the conversations that go on."""

    def items() -> list[str]:
        return going_on(pair.read(at.path_to_conversations))["item"].to_list()

    identity, called = depth_identity(pair.grid, at, what), "conversations that go on"
    return Asked(path, identity, role, drawn, depth=at.depth, items=items, called=called)


def _continued(pair: Pair, at: Depth) -> pl.DataFrame:
    before = pair.read(at.before.path_to_conversations)
    return conversations_at(at, before, pair.read(at.before.path_to_user_turns))


def _probes(pair: Pair, at: Depth) -> Iterator[Finding]:
    """Yield the first user turn whose shown answer is not the model's own at this depth."""
    path = at.path_to_user_turns
    try:
        wrong = _wrong_answer(pair, at)
    except BrokenError:
        return  # reported elsewhere
    except FAULTS as error:
        wrong = "answers and turns", type(error).__name__
    if wrong is not None:
        yield Finding("probes", path, *wrong, remake(path))


def _wrong_answer(pair: Pair, at: Depth) -> Wrong | None:
    own = own_answers(pair.read(at.path_to_answers))
    turns = pair.read(at.path_to_user_turns)
    known = turns if pair.never_failed else turns.filter(pl.col("key").is_not_null())
    for item, answer in known.select("item", "answer").iter_rows():
        if own.get(item) != answer:
            return f"the answer to {item} at depth {at.depth}", "another answer"
    return None
