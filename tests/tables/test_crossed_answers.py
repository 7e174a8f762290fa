"""Table `crossed_answers`: rates of each speaker after each answerer, and what either changes."""

import numpy as np
import polars as pl
import pytest

from benchmarks.coverage_of_crossings import crossings
from userturn.tables.crossed_answers import NO_ITEM, TURNS, effects, pairs, two_way_effects


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


THREE = ("a", "b", "c")


def applied(
    rates: list[list[float]], speakers: tuple[str, ...], answerers: tuple[str, ...]
) -> dict[tuple[str | None, ...], float]:
    """Return the value of each effect of a table of rates, by its kind and names."""
    return {
        tuple(effect[:3]): round(float((effect.coefficients * np.array(rates)).sum()), 9)
        for effect in two_way_effects(speakers, answerers)
    }


def test_rates_that_add_up_have_the_speakers_and_the_answerers_part_and_nothing_beyond() -> None:
    # .3, with -.1, 0 and .1 by speaker (row), and -.2, 0 and .2 by answerer (column)
    found = applied([[0.0, 0.2, 0.4], [0.1, 0.3, 0.5], [0.2, 0.4, 0.6]], THREE, THREE)
    assert [found["speaker", name, None] for name in THREE] == [-0.1, 0.0, 0.1]
    assert [found["answerer", None, name] for name in THREE] == [-0.2, 0.0, 0.2]
    assert {found["interaction", i, j] for i in THREE for j in THREE} == {0.0}
    assert found["own answers", None, None] == 0.0


def test_models_that_react_to_their_own_answers_alone_differ_in_neither_part() -> None:
    # .9 on the diagonal, .3 beside it: the mean is .5, and so is that of each row and column.
    found = applied([[0.9, 0.3, 0.3], [0.3, 0.9, 0.3], [0.3, 0.3, 0.9]], THREE, THREE)
    assert {value for key, value in found.items() if key[0] in ("speaker", "answerer")} == {0.0}
    assert (found["interaction", "a", "a"], found["interaction", "a", "b"]) == (0.4, -0.2)
    assert found["own answers", None, None] == 0.4


def test_after_one_models_answers_only_who_spoke_can_differ() -> None:
    found = applied([[0.2], [0.6]], ("base", "trained"), ("base",))
    assert found == {("speaker", "base", None): -0.2, ("speaker", "trained", None): 0.2}


def test_limits_of_every_kind_of_effect_hold_the_truth_as_often_as_they_say() -> None:
    """In 200 studies of 40 items; `benchmarks/coverage_of_crossings.py` has more of both."""
    found = list(crossings(np.random.default_rng(1), 200, [(40, 0.3, 1)]))
    assert len(found) == 4
    assert all(0.93 <= result.attained <= 0.97 for result in found), found
