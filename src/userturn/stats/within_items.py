"""Several answers of one item: does a score tell the right ones, and what is the best one worth?

Items come as numbers from 0, one per answer, so that everything is computed over items at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from userturn.stats.clustered import Patterns, pooled_rate
from userturn.stats.paired import clustered_change
from userturn.stats.proportions import CONFIDENCE, Array, Interval
from userturn.stats.sign_flips import sign_flip_p

Numbers = NDArray[np.int64]
ROUNDING = 1e-9


class WonPairs(NamedTuple):
    """Pairs of a right and a wrong answer of one item, by item.

    Attributes:
        won: pairs in which the right answer scores higher; ties count as half.
        n_pairs: all pairs of the item.
    """

    won: Array
    n_pairs: Array


def won_pairs(scores: ArrayLike, right: ArrayLike, items: Numbers) -> WonPairs:
    """Return the pairs that the right answer wins, for each item from 0 to the largest number.

    Args:
        scores: one per answer, none missing.
        right: whether each answer is right.
        items: number of the item of each answer.
    """
    x, is_right = np.asarray(scores, np.float64), np.asarray(right, bool)
    n_items = int(items.max()) + 1 if len(items) else 0
    won, n_pairs = np.zeros(n_items), np.zeros(n_items)
    for item in range(n_items):
        of_item = items == item
        above = x[of_item & is_right][:, None] - x[of_item & ~is_right][None, :]
        won[item] = (above > 0).sum() + (above == 0).sum() / 2
        n_pairs[item] = above.size
    return WonPairs(won, n_pairs)


def auc_within(pairs: WonPairs, confidence: float = CONFIDENCE) -> Interval:
    """Return the share of pairs that the right answer wins, with limits clustered by item.

    It is the area under the ROC curve within items, each weighted by its pairs: what is easy or
    hard of an item cannot enter. Limits are Wilson's at the effective number of pairs
    (`stats.clustered`), since an answer is in several pairs of its item. None without a pair.
    """
    mixed = pairs.n_pairs > 0
    if not mixed.any():
        return Interval(None, None, None)
    patterns = Patterns(np.ones(int(mixed.sum())), pairs.n_pairs[mixed], pairs.won[mixed])
    return pooled_rate(patterns, confidence=confidence)


def chosen(scores: ArrayLike, right: ArrayLike, items: Numbers) -> Array:
    """Return for each item the chance that the answer with the highest score is right, exactly.

    One of several with the highest score is taken at random, and one of all where every score is
    missing. Equal scores for all give the accuracy of a random answer.

    Args:
        scores: one per answer, nan where it is missing.
        right: whether each answer is right.
        items: number of the item of each answer, each from 0 to the largest at least once.
    """
    x = np.nan_to_num(np.asarray(scores, np.float64), nan=-np.inf)
    is_right = np.asarray(right, np.float64)
    n_items = int(items.max()) + 1 if len(items) else 0
    most = np.full(n_items, -np.inf)
    np.maximum.at(most, items, x)
    best = (x == most[items]).astype(np.float64)
    return np.asarray(
        np.bincount(items, best * is_right, n_items) / np.bincount(items, best, n_items)
    )


class Change(NamedTuple):
    """The mean difference of two choices over items, with its limits and exact p."""

    estimate: float | None
    lower: float | None
    upper: float | None
    p: float | None


def change_of_choice(after: Array, before: Array) -> Change:
    """Return how much more often one choice is right than another, on the same items.

    Limits are Newcombe's (`stats.paired.clustered_change`), p flips the signs of the items'
    differences (`stats.sign_flips`).

    Args:
        after: chance of a right answer by one choice, per item.
        before: by the other.
    """
    if not len(after):
        return Change(None, None, None, None)
    once = np.ones(len(after))
    return Change(*clustered_change(once, before, after), sign_flip_p(after - before, once))


def change_from_random(best: Array, share: Array, n_answers: int) -> Change:
    """Return how much more often a choice is right than a random answer of the same item.

    Limits are Newcombe's (`stats.paired.clustered_change`). p is exact: of random answers the
    number of right ones is a sum of independent items, each with its share of right answers, and p
    is the chance that it is as far from its mean. Signs cannot be flipped here: where few answers
    are right, a right choice is far above the item's share and a wrong one just below.

    Args:
        best: chance of a right answer by the choice, per item.
        share: share of right answers of each item.
        n_answers: the largest number of answers of an item.
    """
    if not len(best):
        return Change(None, None, None, None)
    found = clustered_change(np.ones(len(best)), share, best, (n_answers, 1))
    chances = np.ones(1)
    for rate in np.sort(share):
        chances = np.convolve(chances, [1 - rate, rate])
    away = np.abs(np.arange(len(chances)) - share.sum())
    p = chances[away >= abs(best.sum() - share.sum()) - ROUNDING].sum()
    return Change(*found, float(min(p, 1)))
