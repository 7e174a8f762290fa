"""The number of units to draw from each stratum: Neyman 1934, JRSS 97:558-625."""

import numpy as np
from numpy.typing import NDArray

from userturn.stats.proportions import Array


def allocated(sizes: Array, spreads: Array, n: int, least: int | Array = 1) -> NDArray[np.int64]:
    """Return how many of each stratum are drawn, by Neyman's allocation: in proportion to N_h s_h.

    Strata that would need more turns than they have are taken whole, and the others share the rest
    (Cochran 1977, Sampling Techniques, section 5.8). Numbers are rounded down; the rest goes to the
    largest remainders, ties in order.

    Args:
        sizes: N_h, the number of turns of each stratum.
        spreads: s_h, the standard deviation of its labels.
        n: the total; at least `least` of each stratum, or all of a smaller one.
        least: minimum for every stratum, or one for each.
    """
    lower = np.minimum(sizes, least).astype(float)
    total = int(min(max(n, lower.sum()), sizes.sum()))
    wanted, is_open = lower.copy(), np.ones(len(sizes), dtype=bool)
    while is_open.any():
        weights = np.maximum((sizes * spreads)[is_open], 1e-12)
        share = (total - wanted[~is_open].sum()) * weights / weights.sum()
        above, below = share > sizes[is_open], share < lower[is_open]
        if not (above | below).any():
            wanted[is_open] = share
            break
        # Strata above their size first: their excess goes to the others.
        fixed, limit = (above, sizes) if above.any() else (below, lower)
        places = np.flatnonzero(is_open)[fixed]
        wanted[places] = limit[places]
        is_open[places] = False
    return _whole(wanted, sizes, total)


def _whole(wanted: Array, sizes: Array, total: int) -> NDArray[np.int64]:
    """Return whole numbers near the wanted ones that add up to the total."""
    whole = np.floor(wanted + 1e-9).astype(np.int64)
    room = np.flatnonzero(whole < sizes)
    order = room[np.argsort(-(wanted - whole)[room], kind="stable")]
    whole[order[: total - int(whole.sum())]] += 1
    return np.asarray(whole)
