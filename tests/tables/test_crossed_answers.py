"""Table `crossed_answers`: rates of each speaker after each answerer, and what either changes."""

import polars as pl
import pytest

from userturn.tables.crossed_answers import NO_ITEM, TURNS, effects, pairs


def turns(rows: list[tuple[str, str, str, bool | None]]) -> pl.DataFrame:
    """Return turns of one judge: speaker, answerer, item and whether the turn is genuine."""
    place = {"dataset": "d", "temperature": 0.0, "judge": "j"}
    named = [
        {**place, "model": model, "answers_from": by, "cluster": item, "genuine": genuine}
        for model, by, item, genuine in rows
    ]
    return pl.DataFrame(named, schema=TURNS)


# `a` is genuine wherever `b` answered, `b` only after itself, of items x and y alike.
CROSSED = [
    (model, by, item, genuine)
    for item in "xy"
    for model, by, genuine in (
        ("a", "a", False),
        ("a", "b", True),
        ("b", "a", False),
        ("b", "b", True),
    )
]


def test_each_pair_of_speaker_and_answerer_has_its_rate() -> None:
    found = {(row["model"], row["answers_from"]): row for row in pairs(turns(CROSSED))}
    assert {pair: row["estimate"] for pair, row in found.items()} == {
        ("a", "a"): 0.0, ("a", "b"): 1.0, ("b", "a"): 0.0, ("b", "b"): 1.0,
    }  # fmt: skip
    assert all(row["n_items"] == row["n_scored"] == 2 for row in found.values())


def test_what_only_the_answerer_changes_is_the_answerers() -> None:
    found = {tuple(row[n] for n in ("effect", "model", "answers_from")): row["estimate"]
             for row in effects(turns(CROSSED), ["a", "b"], ["a", "b"])}  # fmt: skip
    assert found["speaker", "a", None] == pytest.approx(0)
    assert found["answerer", None, "b"] == pytest.approx(0.5)
    assert found["answerer", None, "a"] == pytest.approx(-0.5)
    assert found["own answers", None, None] == pytest.approx(0)


def test_an_effect_is_over_the_items_that_were_scored_in_every_pair() -> None:
    """Item y has no verdict on one pair; item z none of a pair at all."""
    rows = [(m, by, i, None if (m, by, i) == ("a", "b", "y") else g) for m, by, i, g in CROSSED]
    found = list(effects(turns([*rows, ("a", "a", "z", True)]), ["a", "b"], ["a", "b"]))
    assert {(row["n_items"], row["n_scored"]) for row in found} == {(1, 4)}


def test_without_such_an_item_each_effect_has_the_reason() -> None:
    found = list(effects(turns(CROSSED[:3]), ["a", "b"], ["a", "b"]))
    assert {(row["reason"], row.get("estimate")) for row in found} == {(NO_ITEM, None)}
    assert len(found) == 9  # of 2 speakers, 2 answerers, 4 pairs, and models with themselves
