"""Bootstrap and sign flips over items, without ever laying out a resample.

Items with the same counts are exchangeable, so a resample of n items is one multinomial draw over
the distinct patterns of counts. A thousand items have a handful of patterns: a bootstrap costs what
a few hundred numbers cost, and it is the exact one, not an approximation.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from userturn.stats.proportions import CONFIDENCE, Array, Interval, wilson


class Patterns(NamedTuple):
    """Items of one dataset, counted by what was seen of them; arrays of one length."""

    n_items: Array
    n_scored: Array
    n_positive: Array

    @property
    def rate(self) -> float:
        """The share of positive turns among the scored ones, nan where none was scored."""
        scored = float(self.n_items @ self.n_scored)
        return float(self.n_items @ self.n_positive) / scored if scored else float("nan")


def resampled_patterns(n_items: Array, n_resamples: int, rng: np.random.Generator) -> Array:
    """Return how often each pattern occurs in each resample, n_resamples x n_patterns."""
    total = int(n_items.sum())
    return rng.multinomial(total, n_items / total, size=n_resamples).astype(float)


def percentile_interval(
    estimate: float, replicates: Array, confidence: float = CONFIDENCE
) -> Interval:
    """Return the percentile interval (Efron and Tibshirani 1993, chapter 13).

    Resamples in which nothing was scored have no rate, and are left out.
    """
    tail = 100 * (1 - confidence) / 2
    lower, upper = np.nanpercentile(replicates, [tail, 100 - tail])
    return Interval(estimate, min(float(lower), estimate), max(float(upper), estimate))


def _replicates(
    datasets: Sequence[Patterns], n_resamples: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return positive and scored turns of each resample, n_resamples x n_datasets."""
    positive, scored = [], []
    for patterns in datasets:
        drawn = resampled_patterns(patterns.n_items, n_resamples, rng)
        positive.append(drawn @ patterns.n_positive)
        scored.append(drawn @ patterns.n_scored)
    return np.column_stack(positive), np.column_stack(scored)


def clustered_rate(
    datasets: Sequence[Patterns],
    average: str,
    n_resamples: int,
    rng: np.random.Generator,
    confidence: float = CONFIDENCE,
) -> tuple[Interval, str]:
    """Return a rate over datasets with its interval, and which interval it is.

    Items are resampled within their dataset, with all their turns (Field and Welsh 2007, J R Stat
    Soc B 69:369-390). Where each item was scored once, `micro` is a plain proportion and has the
    Wilson interval. Where no turn or every turn is positive, resamples cannot vary: the interval
    is Wilson's with an item counted once, however often it was sampled.

    Args:
        datasets: the patterns of each dataset.
        average: `micro` weighs turns equally, `macro` datasets.
        n_resamples: bootstrap resamples.
        rng: source of the resamples.
        confidence: of the interval.
    """
    seen = [p for p in datasets if p.n_items @ p.n_scored > 0]
    if not seen:
        return Interval(None, None, None), "none"
    n_scored = round(sum(float(p.n_items @ p.n_scored) for p in seen))
    n_positive = round(sum(float(p.n_items @ p.n_positive) for p in seen))
    if n_positive in (0, n_scored):
        n_items = round(sum(float(p.n_items[p.n_scored > 0].sum()) for p in seen))
        return wilson(n_items if n_positive else 0, n_items, confidence), "Wilson over items"
    once = all(p.n_scored.max() <= 1 for p in seen)
    if once and (average == "micro" or len(seen) == 1):
        return wilson(n_positive, n_scored, confidence), "Wilson"
    positive, scored = _replicates(seen, n_resamples, rng)
    if average == "micro":
        estimate, rates = n_positive / n_scored, _share(positive.sum(1), scored.sum(1))
    else:
        estimate = float(np.mean([p.rate for p in seen]))
        rates = _share(positive, scored).mean(1)
    return percentile_interval(estimate, rates, confidence), "bootstrap over items"


def _share(positive: Array, scored: Array) -> Array:
    return np.divide(positive, scored, out=np.full_like(positive, np.nan), where=scored > 0)


def clustered_mean(
    values: Array,
    n_items: Array,
    n_resamples: int,
    rng: np.random.Generator,
    confidence: float = CONFIDENCE,
) -> Interval:
    """Return the mean of one value an item with its bootstrap interval.

    Args:
        values: the distinct values.
        n_items: how many items have each.
        n_resamples: bootstrap resamples.
        rng: source of the resamples.
        confidence: of the interval.
    """
    drawn = resampled_patterns(n_items, n_resamples, rng)
    total = n_items.sum()
    estimate = float(values @ n_items / total)
    return percentile_interval(estimate, drawn @ values / total, confidence)


def sign_flip_p(values: Array, n_items: Array, n_resamples: int, rng: np.random.Generator) -> float:
    """Return the two-sided p that the items' paired differences are symmetric about 0.

    Under the hypothesis each difference may as well have the other sign (Fisher 1935, chapter
    21). m items with the same size of difference add it times 2 Binomial(m, 1/2) - m. The observed
    assignment counts as one (Phipson and Smyth 2010, Stat Appl Genet Mol Biol 9:39).
    """
    sizes, place = np.unique(np.abs(values), return_inverse=True)
    counts = np.bincount(place, weights=n_items).astype(int)
    flipped = (2 * rng.binomial(counts, 0.5, size=(n_resamples, len(counts))) - counts) @ sizes
    observed = abs(float(values @ n_items))
    return (1 + int((np.abs(flipped) >= observed - 1e-9).sum())) / (n_resamples + 1)
