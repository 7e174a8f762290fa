"""The table of self-play: rates, drift and repetition by depth, derived by hand."""

from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from tests.support.self_play_study import collect, paths, study, sweep
from userturn.figures.self_play import self_play as figure
from userturn.stats.proportions import wilson
from userturn.tables.families import families_table
from userturn.tables.self_play import (
    SCHEMA,
    add_repetition,
    match_verdicts,
    measures,
    share_repeated,
    table,
)
from userturn.workflow.pending import Pending


@pytest.mark.parametrize(
    ("text", "others", "share"),
    [
        # The triples: how do i, do i cook, i cook rice; the first two are in the other.
        ("How do I cook rice?", ["How do I cook beans?"], 2 / 3),
        ("How do I cook rice?", [], 0),
        ("cook rice now", ["then cook", "rice now"], 0),  # a triple does not go over two texts
        ("a b c a b c", ["a b c"], 2 / 4),  # abc, bca, cab, abc
        ("Thanks!", ["Thanks!"], None),
    ],
)
def test_repetition_is_the_share_of_word_triples_that_others_have(
    text: str, others: list[str], share: float | None
) -> None:
    assert share_repeated(text, others) == (share if share is None else pytest.approx(share))


def conversation(*said: str) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": text} for i, text in enumerate(said)]


def test_a_turn_is_compared_with_the_prompt_and_with_the_model_s_own_turns_apart() -> None:
    known = pl.DataFrame(
        {
            "item": ["x", "y"],
            "messages": [
                conversation("one two three", "a", "four five six"),
                conversation("one two three", "a", "four five six"),
            ],
        }
    )
    said = {"item": ["x", "y"], "sample": [0, 0], "outcome": ["ok", "empty"]}
    turns = pl.DataFrame({**said, "text": ["one two three four five six", ""]})
    # 4 triples: one of the prompt, one of the own turn of depth 1, two across; y has no text.
    found = add_repetition(turns, known, 2)
    assert found.rows() == [("x", 1 / 4, 1 / 4), ("y", None, None)]
    # A conversation of two real turns at depth 1: both are the prompt, and there is no own turn.
    assert add_repetition(turns, known, 1).rows() == [("x", 2 / 4, None), ("y", None, None)]


def judged(labels: dict[str, str | None]) -> pl.DataFrame:
    genuine = [None if v is None else v == "genuine_followup" for v in labels.values()]
    verdicts = pl.DataFrame(
        {
            "item": list(labels),
            "sample": 0,
            "label": pl.Series(list(labels.values()), dtype=pl.String),
            "genuine": pl.Series(genuine, dtype=pl.Boolean),
        }
    )
    none = pl.lit(None, dtype=pl.Float64)
    return match_verdicts(verdicts.select("item", prompt=none, turns=none), verdicts)


def test_a_depth_counts_what_goes_on_and_what_speaks_as_the_assistant() -> None:
    as_assistant, genuine = "assistant_turn_restate", "genuine_followup"
    first = judged({"a": genuine, "b": genuine, "c": genuine, "d": "generic", "e": None})
    second = judged({"a": genuine, "b": as_assistant, "c": as_assistant, "d": "generic"})
    why = "the user turn of depth 1 was empty"
    known = pl.DataFrame({"item": list("abcde"), "ended": [None] * 4 + [why]})
    row = measures(second, first, known)
    counts = {name: row[name] for name in ("n_conversations", "n_ended", "n_turns", "n_scored")}
    assert counts == {"n_conversations": 5, "n_ended": 1, "n_turns": 4, "n_scored": 4}
    assert (row["estimate"], row["assistant_speech"]) == (1 / 4, 2 / 4)
    assert row["assistant_speech_lower"] == pytest.approx(wilson(2, 4).lower)
    # a stays, b and c fall, d stays: over the four conversations scored at both depths.
    assert (row["change"], row["n_shared"]) == (pytest.approx(-2 / 4), 4)
    assert row["reason"] == why


def test_the_table_of_a_study_has_a_row_for_each_depth(tmp_path: Any) -> None:
    grid = study(tmp_path, 3, likelihood={"datasets": [], "turns": 3, "distractors": 2})
    engine = sweep(grid)
    collect(grid)
    assert Pending(grid).tables == {}
    found = table(cast(Any, SimpleNamespace(grid=grid, paths=paths(grid))))
    assert dict(found.schema) == dict(SCHEMA)
    assert found.select("depth", "n_conversations", "n_turns").rows() == [
        (1, 4, 4),
        (2, 4, 4),
        (3, 4, 4),
    ]
    assert found["change"].is_null().to_list() == [True, False, False]
    # "Question 2 of x?" shares no triple with "Question 1 of x?", whose item's name has two words.
    assert found["repeats_turns"].is_null().to_list() == [True, False, False]
    # Each token of 3 of 4 turns is 2 nats likelier after its own answer than after two others, and
    # of the 20 characters of a turn one is no token of its own: 19 x 2 / 20.
    assert found["gain"].to_list() == pytest.approx([1.9] * 3)
    assert found["n_valued"].to_list() == [3] * 3
    # A turn in its own context and after two other answers, at each depth; depth 1 is also `none`.
    assert len(engine.scored) == 3 * 3 * 3
    chart = figure(found, families_table({"tiny": {}}, {}), "heuristic").to_dict()
    rows = next(iter(chart["datasets"].values()))
    assert {row["measure"] for row in rows} == {
        "genuine",
        "speaks as the assistant",
        "repeats the prompt",
        "repeats its turns",
    }
