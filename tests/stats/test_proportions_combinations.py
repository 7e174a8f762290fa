"""Limits of linear combinations, against Newcombe's interval and normal theory."""

import numpy as np
import pytest

from tests.support.paired_counts import newcombe
from userturn.stats.proportions import Interval, combine, wilson, wilson_limits


def test_difference_of_one_tables_margins_is_newcombes_method_10() -> None:
    # 59, 6, 16, 80 (Cavo et al. 2012): first 65/161, second 75/161, φ corrected for continuity.
    a, first_only, second_only, d = 59, 6, 16, 80
    n = a + first_only + second_only + d
    product = a * d - first_only * second_only - n / 2
    phi = product / np.sqrt(65.0 * 96 * 75 * 86)
    related = np.array([[1, phi], [phi, 1]])
    found = combine([wilson(65, n), wilson(75, n)], np.array([-1.0, 1.0]), related)
    expected = [float(x) for x in newcombe(a, first_only, second_only, d, limits=wilson_limits)]
    assert list(found) == pytest.approx(expected)


def test_equal_distances_add_up_as_standard_errors_do() -> None:
    # sd of 2x - y with sd 3 and 4 and correlation 1/2: sqrt(36 + 16 - 2 * 6 * 4 / 2) = sqrt(28).
    parts = [Interval(10, 7, 13), Interval(5, 1, 9)]
    related = np.array([[1, 0.5], [0.5, 1]])
    found = combine(parts, np.array([2.0, -1.0]), related)
    assert found == pytest.approx((15, 15 - 28**0.5, 15 + 28**0.5))


def test_part_without_limits_is_certain() -> None:
    parts = [Interval(0.5, None, None), Interval(0.2, 0.1, 0.4)]
    assert combine(parts, np.array([1.0, -1.0])) == pytest.approx((0.3, 0.1, 0.4))
