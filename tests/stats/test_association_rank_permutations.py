"""p of rank correlations: every pairing counted by hand and by brute force, and small ones seen."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import rankdata

from userturn.stats import association
from userturn.stats.association import pairings, permutation_p
from userturn.stats.significance import benjamini_hochberg, holm


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_pairings_of_three_by_hand() -> None:
    # 1 2 3 with 1 2 3: 14; one exchange of neighbours: 13 twice; 11 twice; the reverse: 10.
    ways = pairings((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))
    found = {place // 4: int(n) for place, n in enumerate(ways) if n}
    assert found == {14: 1, 13: 2, 11: 2, 10: 1}


@pytest.mark.parametrize("digits", [1, 3])  # with ties and without
@pytest.mark.parametrize("n", [3, 5, 7])
def test_p_is_the_share_of_all_pairings_that_are_as_extreme(n: int, digits: int) -> None:
    x, y = (rankdata(np.round(values, digits)) for values in rng().random((2, n)))
    sums = np.array(list(permutations(y - y.mean()))) @ x
    expected = (np.abs(sums) >= abs(x @ (y - y.mean())) - 1e-9).mean()
    assert permutation_p(x, y, 1, rng(), [np.arange(n)]) == pytest.approx(expected)


@pytest.mark.parametrize("n", [11, 26])
def test_a_lone_perfect_correlation_is_found_among_a_thousand(n: int) -> None:
    ranks = np.arange(1.0, n + 1)
    p = np.array(
        [permutation_p(ranks, ranks, 2000, rng(), [np.arange(n)]), *np.linspace(0.01, 1, 999)]
    )
    assert holm(p)[0] < 0.05 and benjamini_hochberg(p)[0] < 0.05


def test_p_of_drawn_pairings_is_near_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.arange(1.0, 11), np.array([2.0, 1, 4, 3, 7, 5, 6, 8, 10, 9])
    counted = permutation_p(x, y, 1000, rng(), [np.arange(10)])
    assert counted is not None and counted < 1 / 1001  # less than 1,000 draws can tell
    monkeypatch.setattr(association, "EXACT", 9)
    drawn = permutation_p(x, y, 1000, rng(), [np.arange(10)])
    assert drawn == pytest.approx(counted, rel=0.5)


def test_p_among_many_is_uniform_or_larger_where_nothing_is_associated() -> None:
    draw = rng()
    p = [
        permutation_p(draw.permutation(14) + 1.0, np.arange(1.0, 15), 200, draw, [np.arange(14)])
        for _ in range(400)
    ]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.035)


@pytest.mark.parametrize("exact", [11, 3])  # counted, and drawn
def test_models_of_several_families_are_paired_anew_within_families(
    exact: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    families = [np.array([0, 2, 3, 6]), np.array([1, 5, 7]), np.array([4])]
    x, y = (rankdata(np.round(values, 1)) for values in rng().random((2, 8)))
    sums = []
    for first in permutations(families[0]):
        for second in permutations(families[1]):
            paired = y.copy()
            paired[families[0]], paired[families[1]] = y[list(first)], y[list(second)]
            sums.append(x @ paired)
    away = np.abs(np.array(sums) - np.mean(sums))
    expected = (away >= abs(x @ y - np.mean(sums)) - 1e-9).mean()
    monkeypatch.setattr(association, "EXACT", exact)
    found = permutation_p(x, y, 4000, rng(), families)
    assert found == pytest.approx(expected, abs=1e-9 if exact == 11 else 0.03)
