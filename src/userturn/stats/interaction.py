"""Does a condition change two groups equally? The difference of two changes on the same items."""

from typing import NamedTuple

import numpy as np

from userturn.stats.combinations import combine
from userturn.stats.paired import Shares, paired_difference
from userturn.stats.proportions import Interval
from userturn.stats.sign_flips import sign_flip_p


class Interaction(NamedTuple):
    """The first group's change less the second's.

    Attributes:
        first: the first group's change, with its limits.
        second: the second group's.
        difference: the first less the second, with its limits.
        p: p-value of the test that both changes are equal.
    """

    first: Interval
    second: Interval
    difference: Interval
    p: float


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Return the correlation of two changes over items; 0 if one is constant."""
    left, right = first - first.mean(), second - second.mean()
    spread = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / spread if spread > 1e-12 else 0.0


def interaction(first: Shares, second: Shares, tested: tuple[Shares, Shares]) -> Interaction:
    """Return the difference of two changes on the same items, with its limits and its test.

    The limits follow from those of the two changes by the method of variance estimates recovery
    (Zou and Donner 2008, Stat Med 27:1693-1702), with the correlation of the changes over items.
    The test flips the signs of the items' differences of changes (Fisher 1935, The Design of
    Experiments, section 21): items are independent, so all turns of an item stay together.

    Args:
        first: shares of each item in the first group; one row per item, in the order of `second`.
        second: shares of the same items in the second group.
        tested: the shares to test: the same, or first samples if one condition has one turn and the
            other several.
    """
    one, other = paired_difference(first), paired_difference(second)
    related = _correlation(first.after - first.before, second.after - second.before)
    found = combine([one, other], np.array([1.0, -1.0]), np.array([[1.0, related], [related, 1.0]]))
    left, right = ((shares.after - shares.before) for shares in tested)
    changes, counts = np.unique(np.round(left - right, 9), return_counts=True)
    return Interaction(one, other, found, sign_flip_p(changes, counts.astype(float)))
