"""Rates corrected for the judge: prediction-powered inference with design weights.

The judge labels all N turns as genuine or not (f), people a sample of them (y). The estimate is

    lambda * mean_N(f) + sum_g (N_g / N) * mean_g(y - lambda * f)

over the classes g in which people's labels stand for all turns (the strata of the draw), with means
over a class weighted by design weights. It is right whatever the judge does; a good judge makes it
narrow. lambda minimises the variance (PPI++: Angelopoulos, Duchi and Zrnic 2023, arXiv:2311.01453,
section 6; stratified: Fisch et al. 2024, arXiv:2406.04291). The variance is that of two phases
(Sarndal, Swensson and Wretman 1992, section 9.3): the N turns are a draw of the model's, people's
sample is a draw of the N:

    deff * estimate * (1 - estimate) / N + sum_g (N_g / N)^2 * (1 - n_g / N_g) * s_g^2 / m_g

with m_g = (sum w)^2 / sum w^2 labels' worth (Kish 1965) and s_g^2 the variance of y - lambda * f in
the class, to which half a label of either kind is added (as Jeffreys' prior does): a class where
all labels are alike is not certain. The limits are Wilson's with as many turns as give that
variance (Dean and Pagano 2015, doi:10.1093/jssam/smv024): near 0 and 1 and with few labels they
hold, where estimate +- 1.96 standard errors does not.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from userturn.stats.proportions import Array, Floats, Interval, combine, copies, wilson_limits


class Labelled(NamedTuple):
    """The turns of a domain that people labelled."""

    labels: Floats  # by people: 1 genuine, 0 not, a share if several people differ
    predictions: Floats  # the judge's labels of the same turns
    weights: Floats  # how many turns each represents; they sum to N_g within a class
    classes: npt.NDArray[Any]  # the name of the class of each


class Corrected(NamedTuple):
    """A corrected rate with its 95% interval, variance and tuning."""

    estimate: float
    variance_of_turns: float  # the part that is due to the model's draw of the turns
    variance: float
    lower: float
    upper: float
    tuning: float  # lambda


class _Class(NamedTuple):
    share: float  # of the domain's turns
    worth: float  # effective number of labels
    rest: float  # share of the class that nobody labelled
    mean_label: float
    middle: float  # mean_label with the added labels, nearer to a half
    mean_prediction: float
    var_label: float
    var_prediction: float
    covariance: float


def _class(sample: Labelled, members: npt.NDArray[np.bool_], total: float) -> _Class:
    """Return the moments of one class, with half a label of each kind added."""
    y, f, w = (values[members] for values in sample[:3])
    order = np.lexsort((y, f, w))  # sums of floats depend on their order: results must not
    y, f, w = y[order], f[order], w[order]
    size = w.sum()
    worth = float(size**2 / (w**2).sum())
    mean_y, mean_f = (float((w * values).sum() / size) for values in (y, f))
    var_f = float((w * (f - mean_f) ** 2).sum() / size)
    covariance = float((w * (y - mean_y) * (f - mean_f)).sum() / size)
    spread = float((w * (y - mean_y) ** 2).sum() / size)
    middle = (worth * mean_y + 0.5) / (worth + 1)
    added = ((1 - middle) ** 2 + middle**2) / 2
    var_y = (worth * (spread + (mean_y - middle) ** 2) + added) / (worth + 1)
    rest = max(0.0, 1 - members.sum() / size)
    return _Class(size / total, worth, rest, mean_y, middle, mean_f, var_y, var_f, covariance)


def power_tuning(classes: list[_Class]) -> float:
    """Return the lambda of least variance, between 0 and 1, or 1 if the judge never varies."""
    scales = [c.share**2 * c.rest / c.worth for c in classes]
    covariance = sum(s * c.covariance for s, c in zip(scales, classes, strict=True))
    variance = sum(s * c.var_prediction for s, c in zip(scales, classes, strict=True))
    return 1.0 if variance < 1e-15 else float(np.clip(covariance / variance, 0, 1))


def corrected_rate(
    predictions: Floats, sample: Labelled, design_effect: float = 1.0, tuning: float | None = None
) -> Corrected:
    """Return the rate that people would give, from a judge's labels and a sample of people's.

    `predictions` are the judge's labels of all turns of the domain, 0 for turns without one.
    `sample` has turns of every class. The design effect is that of shared items on the variance of
    a mean. `tuning` is lambda, or None for the best one.
    """
    n, total = len(predictions), float(np.sort(sample.weights).sum())
    classes = [_class(sample, sample.classes == name, total) for name in np.unique(sample.classes)]
    power = power_tuning(classes) if tuning is None else tuning
    corrections = [c.share * (c.mean_label - power * c.mean_prediction) for c in classes]
    estimate = float(power * predictions.mean() + sum(corrections))
    middle = float(np.clip(estimate, 0, 1))
    variance = of_turns = design_effect * middle * (1 - middle) / n
    for c in classes:
        spread = c.var_label - 2 * power * c.covariance + power**2 * c.var_prediction
        variance += c.share**2 * c.rest * max(0.0, spread) / c.worth
    smoothed = float(np.clip(sum(c.share * c.middle for c in classes), 0, 1))
    # The number of labelled turns that has this variance; it cannot exceed the number of turns.
    most = n / design_effect
    worth = min(most, smoothed * (1 - smoothed) / variance) if variance > 0 else most
    lower, upper = wilson_limits(middle * worth, worth)
    return Corrected(middle, of_turns, float(variance), float(lower), float(upper), power)


def design_effect(predictions: Floats, clusters: npt.NDArray[Any]) -> float:
    """Return the design effect of turns that share items on the variance of a mean, at least 1.

    It is the ratio of the mean's variance over clusters to that over turns, from the judge's labels
    (Kish 1965, section 5.4). It is 1 if each item has one turn or all labels are equal.
    """
    n, mean = len(predictions), float(predictions.mean())
    _, of_turn = np.unique(clusters, return_inverse=True)
    if mean in (0, 1) or of_turn.max() + 1 == n:
        return 1.0
    sums = np.bincount(of_turn, weights=predictions) - mean * np.bincount(of_turn)
    once = copies(np.bincount(of_turn), np.bincount(of_turn, weights=predictions))
    return max(once, float((sums**2).sum() / (n * mean * (1 - mean))))


def difference(base: Corrected, condition: Corrected, correlation: float) -> Interval:
    """Return the condition's corrected rate minus that of `base` on shared items, with its limits.

    The limits are combined by MOVER, as for any difference. The samples of labels are independent.
    So the covariance is r sqrt(t1 t2), where t1 and t2 are the parts of the variances due to the
    turns, and r is the correlation of the judge's two rates over the items
    (`margins.correlations`).
    """
    both = base.variance * condition.variance
    of_turns = base.variance_of_turns * condition.variance_of_turns
    related = np.eye(2)
    related[0, 1] = related[1, 0] = correlation * (of_turns / both) ** 0.5 if both else 0.0
    parts = [Interval(rate.estimate, rate.lower, rate.upper) for rate in (base, condition)]
    return combine(parts, np.array([-1.0, 1.0]), related)


def allocated(sizes: Array, spreads: Array, n: int, least: int | Array = 1) -> NDArray[np.int64]:
    """Return how many of `n` turns are drawn from each stratum, in proportion to N_h s_h.

    N_h are the sizes, and s_h the spreads: standard deviations of labels (Neyman 1934, JRSS
    97:558-625). Strata that would need more turns than they have are taken whole, and the others
    share the rest (Cochran 1977, Sampling Techniques, section 5.8). At least `least` turns of each
    stratum are drawn, or all of a smaller one. Numbers are rounded down. The remainder goes to the
    strata with the largest fractions, in order where these are equal.
    """
    lower = np.minimum(sizes, least).astype(float)
    total = int(min(max(n, lower.sum()), sizes.sum()))
    sizes_of_strata, is_open = lower.copy(), np.ones(len(sizes), dtype=bool)
    while is_open.any():
        weights = np.maximum((sizes * spreads)[is_open], 1e-12)
        share = (total - sizes_of_strata[~is_open].sum()) * weights / weights.sum()
        above, below = share > sizes[is_open], share < lower[is_open]
        if not (above | below).any():
            sizes_of_strata[is_open] = share
            break
        # Strata above their size first: their excess goes to the others.
        fixed, limit = (above, sizes) if above.any() else (below, lower)
        places = np.flatnonzero(is_open)[fixed]
        sizes_of_strata[places] = limit[places]
        is_open[places] = False
    return _whole(sizes_of_strata, sizes, total)


def _whole(shares: Array, sizes: Array, total: int) -> NDArray[np.int64]:
    """Return whole numbers near the wanted numbers that add up to the total."""
    whole = np.floor(shares + 1e-9).astype(np.int64)
    room = np.flatnonzero(whole < sizes)
    order = room[np.argsort(-(shares - whole)[room], kind="stable")]
    whole[order[: total - int(whole.sum())]] += 1
    return np.asarray(whole)
