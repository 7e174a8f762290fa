"""Limits of sums and differences, from the limits of their terms (MOVER)."""

from collections.abc import Sequence

import numpy as np

from userturn.stats.proportions import Array, Interval


def combine(
    parts: Sequence[Interval], coefficients: Array, correlations: Array | None = None
) -> Interval:
    """Return a linear combination of estimates with its limits.

    The method of variance estimates recovery: the squared distances from each estimate to its own
    limit, on the side that matters, stand for variances. Zou and Donner 2008, Stat Med
    27:1693-1702; for sums of more than two, correlated, Zou, Huang and Zhang 2009, Comput Stat
    Data Anal 53:1080-1085. With coefficients -1 and 1 and Wilson's limits of one table's margins it
    is Newcombe's method 10.

    Args:
        parts: estimates with limits; a part without limits counts as certain.
        coefficients: one per part.
        correlations: correlations of the parts' estimates; None for independent ones.
    """
    values = np.array([part.estimate for part in parts], dtype=float)
    limits = np.array(
        [
            (p.estimate, p.estimate) if p.lower is None or p.upper is None else (p.lower, p.upper)
            for p in parts
        ],
        dtype=float,
    )
    related = np.eye(len(parts)) if correlations is None else correlations
    down = np.where(coefficients > 0, values - limits[:, 0], values - limits[:, 1]) * coefficients
    up = np.where(coefficients > 0, limits[:, 1] - values, limits[:, 0] - values) * coefficients
    signs = np.sign(coefficients)
    # Distances have no sign, so terms of opposite signs flip the sign of their correlation.
    turned = related * np.outer(signs, signs)
    below, above = (float(np.sqrt(max(0.0, float(d @ turned @ d)))) for d in (down, up))
    estimate = float(values @ coefficients)
    return Interval(estimate, estimate - below, estimate + above)
