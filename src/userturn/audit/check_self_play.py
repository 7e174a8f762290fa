"""Does every depth of self-play follow from the one before it, its plans and the journal?"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import polars as pl

from userturn.audit.check_probes import own_answers
from userturn.audit.check_rows import Rows, check_plan, wrong_request
from userturn.audit.check_verdicts import check_verdicts_in
from userturn.audit.findings import Finding, remake
from userturn.audit.pair import BrokenError, Pair
from userturn.audit.table_diff import Wrong
from userturn.generation.collect_self_play import answers_at, conversations_at, user_turns_at
from userturn.generation.self_play import going_on
from userturn.models.seeds import role_at
from userturn.provenance.study_files import FAULTS
from userturn.storage.key_columns import ANSWER_KEYS, TURN_KEYS
from userturn.study.model_description import turn_ends
from userturn.study.self_play import ANSWERS, TURNS, Depth, depth_identity, depths


def check_self_play(pair: Pair) -> Iterator[Finding]:
    """Yield the faults in conversations, answers, user turns and verdicts of all depths."""
    for at in depths(pair.grid):
        if (at.model, at.dataset) == (pair.model, pair.dataset):
            yield from _of_depth(pair, at)


def _path_to_answers(at: Depth) -> str:
    return f"results/{at.folder}/answers.parquet"


def _of_depth(pair: Pair, at: Depth) -> Iterator[Finding]:
    conversations, turns = at.path_to_conversations, at.path_to_user_turns
    yield from pair.held("rows", conversations, partial(_continued, pair, at), ["item"])
    for what in (ANSWERS, TURNS):
        identity = depth_identity(pair.grid, at, what)
        yield from check_plan(pair, identity, partial(_planned, pair, at))
        yield from _requests(pair, at, what)
    if pair.with_journals:
        answers = partial(_joined, answers_at, pair, at)
        yield from pair.held("rows", _path_to_answers(at), answers, ANSWER_KEYS)
        yield from pair.held("rows", turns, partial(_joined, user_turns_at, pair, at), TURN_KEYS)
    yield from _probes(pair, at)
    yield from check_verdicts_in(pair, f"results/{at.folder}", conversations)


def _joined(make: Callable[..., Iterator[pl.DataFrame]], pair: Pair, at: Depth) -> pl.DataFrame:
    return pl.concat(make(pair.grid, at, pair.outcomes))


def _continued(pair: Pair, at: Depth) -> pl.DataFrame:
    before = pair.read(at.before.path_to_conversations)
    return conversations_at(at, before, pair.read(at.before.path_to_user_turns))


def _planned(pair: Pair, at: Depth) -> Rows:
    """Return the rows that the plans of a depth should have: the conversations that go on."""
    return {(item, 0) for item in going_on(pair.read(at.path_to_conversations))["item"]}


def _requests(pair: Pair, at: Depth, what: str) -> Iterator[Finding]:
    """Compare items, seeds and keys of a depth's answers or user turns with their inputs."""
    is_answer = what == ANSWERS
    path = _path_to_answers(at) if is_answer else at.path_to_user_turns
    try:
        table = pair.read(path)
        items = going_on(pair.read(at.path_to_conversations))["item"].to_list()
        drawn = _drawn_of(pair, at, what)
    except (BrokenError, *FAULTS):
        return  # reported elsewhere
    if table["item"].to_list() != items:
        expected = f"a row of each of {len(items)} conversations that go on, in their order"
        yield Finding("rows", path, expected, f"{table.height} rows", remake(path))
        return
    role = role_at("assistant" if is_answer else "user", at.depth)
    wrong = wrong_request(pair, table.with_columns(sample=pl.lit(0)), role, drawn)
    if wrong is not None:
        yield Finding("keys", path, *wrong, remake(path))


def _drawn_of(pair: Pair, at: Depth, what: str) -> dict[str, Any]:
    """Return the sampling settings that all requests of a depth share: those of `Sampling`."""
    if what == ANSWERS:
        drawn, role = pair.grid.answer_settings(at.model), "assistant"
    else:
        drawn, role = pair.grid.user_turn_settings(pair.grid.temperatures[at.temperature]), "user"
    return {**drawn, **turn_ends(pair.description, role)}


def _probes(pair: Pair, at: Depth) -> Iterator[Finding]:
    """Yield the first user turn whose shown answer is not the model's own at this depth."""
    path = at.path_to_user_turns
    try:
        wrong = _wrong_answer(pair, at)
    except (BrokenError, *FAULTS):
        return  # reported elsewhere
    if wrong is not None:
        yield Finding("probes", path, *wrong, remake(path))


def _wrong_answer(pair: Pair, at: Depth) -> Wrong | None:
    own = own_answers(pair.read(_path_to_answers(at)))
    asked = pair.read(at.path_to_user_turns).filter(pl.col("key").is_not_null())
    for item, answer in asked.select("item", "answer").iter_rows():
        if own.get(item) != answer:
            return f"the answer to {item} at depth {at.depth}", "another answer"
    return None
