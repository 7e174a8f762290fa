"""Effects of a two-way layout separate its rows from its columns, with limits that hold."""

import numpy as np

from benchmarks.coverage_of_crossings import crossings
from userturn.tables.crossed_answers import two_way_effects

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
