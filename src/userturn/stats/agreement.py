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

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from userturn.stats.arrays import Floats


class Ratings(NamedTuple):
    """Labels of several raters on the same units.

    Attributes:
        codes: units x raters: position of the label in the scale, -1 for none.
        weights: per unit: how many units of the full study it represents.
        clusters: per unit: units of one cluster are drawn together.
        n_labels: number of labels in the scale.
    """

    codes: npt.NDArray[np.int64]
    weights: Floats
    clusters: npt.NDArray[Any]
    n_labels: int


Sums = dict[str, Floats]  # each an array of resamples x columns


def features(ratings: Ratings) -> Sums:
    """Return the quantities that are summed over units, each an array of units x columns."""
    given = ratings.codes[:, :, None] == np.arange(ratings.n_labels)
    counts = np.asarray(given.sum(1), float)
    n = counts.sum(1, keepdims=True)
    paired = np.asarray(n >= 2, float)
    both = np.asarray((ratings.codes[:, :2] >= 0).all(1, keepdims=True), float)
    first, second = (np.asarray(given[:, rater], float) * both for rater in (0, 1))
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
    """Divide, with NaN where the denominator is zero but for rounding."""
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
    """Return Krippendorff's nominal alpha; weights are scaled to the number of labels paired."""
    scale = _ratio(np.full(len(sums["pairable"]), n_pairable), sums["pairable"].sum(1))
    totals = sums["pairable"] * scale[:, None]
    expected = (n_pairable**2 - (totals**2).sum(1)) / (n_pairable - 1)
    return 1 - _ratio(sums["disagreeing"][:, 0] * scale, expected)


def gwet_ac1(sums: Sums, n_pairable: float) -> Floats:
    """Return Gwet's AC1."""
    shares = _ratio(sums["shares"], sums["labelled"])
    expected = (shares * (1 - shares)).sum(1) / (shares.shape[1] - 1)
    return _ratio(raw_agreement(sums, n_pairable) - expected, 1 - expected)


Coefficient = Callable[[Sums, float], Floats]
COEFFICIENTS: Mapping[str, Coefficient] = {
    "raw": raw_agreement,
    "cohen_kappa": cohen_kappa,
    "krippendorff_alpha": krippendorff_alpha,
    "gwet_ac1": gwet_ac1,
}
