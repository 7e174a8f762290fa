"""Agreement of raters on nominal labels: raw, Cohen's kappa, Krippendorff's alpha, Gwet's AC1.

All four are functions of sums over units, so that one vectorised formula serves two or more raters,
missing labels, design weights and all bootstrap resamples at once. Each unit counts by its weight.
Formulas, with r_ik the raters who gave unit i label k, r_i their number:

- raw: the mean over units with r_i >= 2 of sum_k r_ik (r_ik - 1) / (r_i (r_i - 1)).
- Cohen 1960, doi:10.1177/001316446002000104: kappa = (p_o - p_e) / (1 - p_e), p_e the sum over
  labels of the product of the two raters' shares.
- Krippendorff 2011, "Computing Krippendorff's alpha-reliability": 1 - D_o / D_e from coincidences.
- Gwet 2008, doi:10.1348/000711006X126600: AC1 = (p_a - p_e) / (1 - p_e) with
  p_e = sum_k pi_k (1 - pi_k) / (q - 1), pi_k the mean share of label k, q the labels of the scale.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from userturn.stats.proportions import CONFIDENCE, Floats, Patterns, design_effect, wilson_limits


class Ratings(NamedTuple):
    """Labels of several raters on the same units."""

    codes: npt.NDArray[np.int64]  # units x raters: position of the label in the scale, -1 for none
    weights: Floats  # how many units of the full study each represents
    clusters: npt.NDArray[Any]  # units of one cluster are drawn together
    n_labels: int  # number of labels in the scale


Sums = dict[str, Floats]  # each an array of resamples x columns


def features(ratings: Ratings) -> Sums:
    """Return the quantities that are summed over units, each as an array of units x columns."""
    has_label = ratings.codes[:, :, None] == np.arange(ratings.n_labels)
    counts = np.asarray(has_label.sum(1), float)
    n = counts.sum(1, keepdims=True)
    paired = np.asarray(n >= 2, float)
    both = np.asarray((ratings.codes[:, :2] >= 0).all(1, keepdims=True), float)
    first, second = (np.asarray(has_label[:, rater], float) * both for rater in (0, 1))
    others = np.maximum(n - 1, 1)
    return {
        "paired": paired,
        "agreeing": paired
        * (counts * (counts - 1)).sum(1, keepdims=True)
        / np.maximum(n * others, 1),
        "disagreeing": paired * (counts * (n - counts)).sum(1, keepdims=True) / others,
        "pairable": paired * counts,
        "labelled": np.asarray(n >= 1, float),
        "shares": counts / np.maximum(n, 1),
        "both": both,
        "same": (first * second).sum(1, keepdims=True),
        "first": first,
        "second": second,
    }


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide, and return NaN where the denominator is zero up to rounding."""
    safe = np.where(np.abs(denominator) < 1e-12, np.nan, denominator)
    return np.asarray(numerator / safe)


def raw_agreement(sums: Sums, n_pairable: float) -> Floats:
    """Return the share of pairs of raters who agree."""
    return _ratio(sums["agreeing"], sums["paired"])[:, 0]


def cohen_kappa(sums: Sums, n_pairable: float) -> Floats:
    """Return Cohen's kappa of the first two raters."""
    observed = _ratio(sums["same"], sums["both"])[:, 0]
    shares = (_ratio(sums[rater], sums["both"]) for rater in ("first", "second"))
    expected = next(shares)
    expected = (expected * next(shares)).sum(1)
    return _ratio(observed - expected, 1 - expected)


def krippendorff_alpha(sums: Sums, n_pairable: float) -> Floats:
    """Return Krippendorff's nominal alpha, with weights scaled to the number of paired labels."""
    scale = _ratio(np.full(len(sums["pairable"]), n_pairable), sums["pairable"].sum(1))
    totals = sums["pairable"] * scale[:, None]
    expected = (n_pairable**2 - (totals**2).sum(1)) / (n_pairable - 1)
    return 1 - _ratio(sums["disagreeing"][:, 0] * scale, expected)


def gwet_ac1(sums: Sums, n_pairable: float) -> Floats:
    """Return Gwet's AC1."""
    shares = _ratio(sums["shares"], sums["labelled"])
    expected = (shares * (1 - shares)).sum(1) / (shares.shape[1] - 1)
    return _ratio(raw_agreement(sums, n_pairable) - expected, 1 - expected)


# Of sums over units, and the number of labels of units with two or more: one value per resample.
COEFFICIENTS: Mapping[str, Callable[[Sums, float], Floats]] = {
    "raw": raw_agreement,
    "cohen_kappa": cohen_kappa,
    "krippendorff_alpha": krippendorff_alpha,
    "gwet_ac1": gwet_ac1,
}


N_RESAMPLES = 1000
FEWEST = 2  # clusters that an interval needs
PRIOR = {"gwet_ac1": 1.0, "cohen_kappa": 2.0, "krippendorff_alpha": 2.0}  # units


class Estimate(NamedTuple):
    """A coefficient with its 95% limits: what is undefined is None, with a reason."""

    estimate: float | None
    lower: float | None
    upper: float | None
    reason: str | None


def cluster_sums(ratings: Ratings) -> Sums:
    """Return the weighted features summed over the units of each cluster: clusters x columns."""
    clusters, of_unit = np.unique(ratings.clusters, return_inverse=True)
    sums = {}
    for name, values in features(ratings).items():
        sums[name] = np.zeros((len(clusters), values.shape[1]))
        np.add.at(sums[name], of_unit, values * ratings.weights[:, None])
    return sums


def prior_sums(ratings: Ratings) -> Sums:
    """Return the features of one unit on which two raters agree, and of one on which they do not.

    Each is spread evenly over all labels. For two labels, one unit of each kind puts half a unit
    into each of the four cells, which is Jeffreys' prior.
    """
    q = ratings.n_labels
    pairs = np.array([(a, b) for a in range(q) for b in range(q)])
    each = features(ratings._replace(codes=pairs))
    agree = (pairs[:, 0] == pairs[:, 1]).astype(float)
    mix = np.stack([agree / q, (1 - agree) / (q * (q - 1))])
    return {name: mix @ values for name, values in each.items()}


def weighing(ratings: Ratings, generator: np.random.Generator) -> tuple[Sums, Floats]:
    """Return the sums of clusters and of two prior units, and the random weights of the clusters.

    In the Bayesian bootstrap (Rubin 1981, Ann Stat 9:130-134) each cluster's weight is a standard
    exponential, and each prior unit's weight a gamma of shape PRIOR / 2. The weights are an array
    of resamples x clusters. The size of a prior unit is the sum of weights over the effective
    number of units (Kish 1965): Σw²/Σw, times the design effect of agreement over clusters.
    """
    sums = cluster_sums(ratings)
    weights = ratings.weights[(ratings.codes >= 0).sum(1) >= 2]
    one = float((weights**2).sum() / weights.sum()) * _shared(ratings, sums)
    prior = {name: one * values for name, values in prior_sums(ratings).items()}
    resamples = generator.standard_exponential((N_RESAMPLES, len(sums["paired"])))
    return {name: np.vstack([values, prior[name]]) for name, values in sums.items()}, resamples


def _shared(ratings: Ratings, sums: Sums) -> float:
    """Return the design effect of clusters on the variance of agreement, at least 1."""
    if len(sums["paired"]) == len(ratings.codes):
        return 1.0
    alone = cluster_sums(ratings._replace(clusters=np.arange(len(ratings.codes))))
    return max(1.0, _spread(sums) / _spread(alone))


def _spread(sums: Sums) -> float:
    seen = sums["paired"][:, 0] > 0
    paired, agreeing = sums["paired"][seen, 0], sums["agreeing"][seen, 0]
    return design_effect(Patterns(np.ones(len(paired)), paired, agreeing), 1e-9)


def estimate_all(
    ratings: Ratings, names: Sequence[str], generator: np.random.Generator
) -> dict[str, Estimate]:
    """Return some `COEFFICIENTS` by name, with 95% intervals that hold for few or unanimous units.

    Raw agreement has Wilson's interval at the clusters' effective sample size (`proportions`). The
    others have the quantiles of the Bayesian bootstrap with a prior. The prior is worth one unit
    for AC1, which is Jeffreys' prior of a share, as for raw agreement. For kappa and alpha it is
    worth two units, which is Jeffreys' prior of a table of two labels (for kappa see Lee and Tu
    1994, J Comput Graph Stat 3:301-321).
    """
    n_labels = (ratings.codes >= 0).sum(1)
    n_pairable = float(n_labels[n_labels >= 2].sum())
    if n_pairable == 0:
        return {name: Estimate(None, None, None, "no turn was labelled by both") for name in names}
    sums, weights = weighing(ratings, generator)
    n = weights.shape[1]
    once = {name: values[:n].sum(0, keepdims=True) for name, values in sums.items()}
    estimates = {}
    for name in names:
        value = float(COEFFICIENTS[name](once, n_pairable)[0])
        if not np.isfinite(value):
            why = "only one label was used, so agreement by chance is certain"
            estimates[name] = Estimate(None, None, None, why)
        elif n < FEWEST:
            estimates[name] = Estimate(value, None, None, "too few items for an interval")
        elif name == "raw":
            estimates[name] = _raw(value, sums, ratings)
        else:
            prior = generator.standard_gamma(PRIOR[name] / 2, (N_RESAMPLES, 2))
            times = np.hstack([weights, prior])
            resampled = {key: times @ values for key, values in sums.items()}
            estimates[name] = _estimate(value, COEFFICIENTS[name](resampled, n_pairable))
    return estimates


def _raw(value: float, sums: Sums, ratings: Ratings) -> Estimate:
    """Return raw agreement with Wilson's limits at the effective sample size.

    Design weights make many turns of few, so the size is at most the effective number of weighted
    units (Kish 1965). Where all raters agree, or none does, it is at most the number of clusters.
    """
    n_clusters = len(sums["paired"]) - 2
    paired, agreeing = sums["paired"][:n_clusters, 0], sums["agreeing"][:n_clusters, 0]
    seen = paired > 0
    counted = Patterns(np.ones(int(seen.sum())), paired[seen], agreeing[seen])
    units = ratings.weights[(ratings.codes >= 0).sum(1) >= 2]
    weights = paired[seen] if value in (0, 1) else units
    most = float(weights.sum() ** 2 / (weights**2).sum())
    worth = min(counted.total_scored / design_effect(counted, 1e-9), most)
    lower, upper = wilson_limits(value * worth, worth)
    return Estimate(value, float(lower), float(upper), None)


def _estimate(value: float, resamples: Floats) -> Estimate:
    defined = resamples[np.isfinite(resamples)]
    lower, upper = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(value, min(float(lower), value), max(float(upper), value), None)
