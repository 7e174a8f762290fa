"""The exact test of paired differences by flipping their signs."""

from fractions import Fraction
from math import gcd, lcm

import numpy as np

from userturn.stats.proportions import Array

GRID = 2520  # shares of up to ten turns, and their differences, are whole multiples of 1/2520
FINEST = 1000  # the largest denominator of a change that is looked for
MANY = 1000  # with more distinct changes none is looked for
TOLERANCE = 1e-8
LONGEST = 2**20  # points of the distribution; finer changes are rounded until it fits
NEGLIGIBLE = 1e-18
SMALLEST = 1e-12  # below this a p-value is rounding of the Fourier transform


def _step(values: Array) -> int:
    """Return the number of steps in 1 of which all values are multiples, as far as it is small."""
    parts = [Fraction(float(value)).limit_denominator(FINEST) for value in values]
    return lcm(*(part.denominator for part in parts)) if len(parts) < MANY else GRID


def _whole(values: Array, n_items: Array) -> tuple[np.ndarray, float]:
    """Return changes as whole numbers of steps, and the total number of steps."""
    total = max(float(np.abs(values) @ n_items), 1e-9)
    scale = next(
        (s for s in (_step(values), GRID) if s * total <= LONGEST / 4), LONGEST / 4 / total
    )
    steps = np.rint(values * scale).astype(int)
    steps = steps // (gcd(*np.abs(steps).tolist()) or 1)
    return steps, float(np.abs(steps) @ n_items)


def is_exact(values: Array, n_items: Array) -> bool:
    """Return whether the test is of these changes themselves, not of rounded ones."""
    steps, _ = _whole(values, n_items)
    if not steps.any():
        return not np.any(np.abs(values) > TOLERANCE)
    largest = int(np.argmax(np.abs(steps)))
    return bool(np.allclose(steps * (values[largest] / steps[largest]), values, atol=TOLERANCE))


def _spectrum(sizes: np.ndarray, counts: np.ndarray, n_points: int) -> Array:
    """Return the characteristic function of the sum of flipped steps, at half of its points."""
    found = np.zeros(n_points // 2 + 1)
    alive, values = np.arange(len(found)), np.ones(len(found))
    for place in np.argsort(-counts, kind="stable"):
        angles = 2 * np.pi / n_points * alive * float(sizes[place])
        values = values * np.cos(angles) ** int(counts[place])
        kept = np.abs(values) > NEGLIGIBLE  # with many items nearly nothing, so it stays cheap
        alive, values = alive[kept], values[kept]
    found[alive] = values
    return found


def sign_flip_p(values: Array, n_items: Array, seen: float = 1.0) -> float:
    """Return the exact two-sided p that the items' paired differences are symmetric about 0.

    Under the hypothesis each difference is equally likely to have the opposite sign (Fisher 1935,
    The Design of Experiments, section 21). The distribution of the sum over all 2ⁿ flips follows
    from its characteristic function Π cos(ω dᵢ), on a lattice (Pagano and Tritchler 1983, JASA
    78:435-440). With differences of -1, 0 and 1 it is McNemar's exact test. If the sum of the
    changes needs over a million lattice points, they are rounded to 1/2520 or coarser (`is_exact`).

    Args:
        values: the distinct differences.
        n_items: number of items with each.
        seen: by how much the chance of the very sum that was seen counts; 1/2 is mid-p (Fagerland,
            Lydersen and Laake 2013, BMC Med Res Methodol 13:91).
    """
    steps, reach = _whole(values, n_items)
    if reach == 0:
        return 1.0
    observed = abs(float(steps @ n_items))
    n_points = 1 << int(2 * reach + 1).bit_length()
    sizes, place = np.unique(np.abs(steps), return_inverse=True)
    counts = np.bincount(place, weights=n_items)
    chances = np.fft.irfft(_spectrum(sizes, counts, n_points), n_points)
    first = round(observed)
    tail = float(chances[first : int(reach) + 1].sum() - (1 - seen) * chances[first])
    return float(min(1.0, max(2 * tail, SMALLEST))) if first else 1.0
