"""How often a study agrees with the paper, differs or cannot tell: a part of `coverage.py`."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.simulated import PAPER, Generator, Result, held
from userturn.stats.proportions import Interval, wilson
from userturn.tables import anchor_rules as rule
from userturn.tables.anchor_rules import FAILS, HOLDS

SIZES = (0.8, 2, 4, 9, 27, 35, 122, 397)  # of Qwen3.5, billions
Outcome = Callable[[Generator, int], str]  # of one study with so many items


def _rates(rng: Generator, chances: Sequence[float], size: int) -> list[Interval]:
    return [wilson(int(rng.binomial(size, chance)), size) for chance in chances]


def _share(truth: float, rng: Generator, size: int) -> str:
    return rule.share_is(_rates(rng, [truth], size)[0], 0.22, 0.005).outcome


def _near_zero(truth: float, rng: Generator, size: int) -> str:
    return rule.all_near_zero(_rates(rng, [truth] * len(SIZES), size)).outcome


def _over_size(top: float, rng: Generator, size: int) -> str:
    rates = _rates(rng, np.linspace(0.01, top, len(SIZES)).tolist(), size)
    return rule.none_rises([rule.rise_over_size(SIZES, rates)]).outcome


def _changes(
    of_both: Callable[[Sequence[Interval]], rule.Decision], after: float, rng: Generator, size: int
) -> str:
    """Return the outcome of two changes from 8%, each of as many items."""
    pairs = [_rates(rng, (0.08, after), size) for _ in range(2)]
    return of_both([rule.rise_over_size((1, 2), pair) for pair in pairs]).outcome


# What a claim says, what is true, the outcome that would be wrong, and a study of it.
CLAIMS: list[tuple[str, str, str, Outcome]] = [
    ("published 22%", "truly 22%", FAILS, partial(_share, 0.22)),
    ("published 22%", "truly 30%", HOLDS, partial(_share, 0.30)),
    ("near zero at 8 sizes", "all truly 1%", FAILS, partial(_near_zero, 0.01)),
    ("near zero at 8 sizes", "all truly 5%", FAILS, partial(_near_zero, 0.05)),
    ("near zero at 8 sizes", "all truly 6%", HOLDS, partial(_near_zero, 0.06)),
    ("larger is not better", "truly 1% at each", FAILS, partial(_over_size, 0.01)),
    ("larger is not better", "truly 1.0 to 3.1%", HOLDS, partial(_over_size, 0.031)),
    ("larger is not better", "truly 1 to 6%", HOLDS, partial(_over_size, 0.06)),
    ("both rise", "truly by 10 points", FAILS, partial(_changes, rule.all_rise, 0.18)),
    ("both rise", "truly not", HOLDS, partial(_changes, rule.all_rise, 0.08)),
    ("neither rises", "truly not", FAILS, partial(_changes, rule.none_rises, 0.08)),
    ("neither rises", "truly by 10 points", HOLDS, partial(_changes, rule.none_rises, 0.18)),
]


def outcomes(rng: Generator, n: int) -> Iterator[Result]:
    """Yield how often each kind of claim gets the wrong outcome, and the right one.

    Of a study of twelve items, and of one of the paper's size.
    """
    for size in (12, sum(PAPER)):
        for claim, truth, wrong, outcome in CLAIMS:
            counts = Counter(outcome(rng, size) for _ in range(n))
            right = FAILS if wrong == HOLDS else HOLDS
            where = f"{truth}, {size} items"
            yield Result(f"“{claim}”, wrongly {wrong}", where, 0.05, counts[wrong] / n)
            yield Result(f"“{claim}”, rightly {right}", where, None, counts[right] / n)
    for cells, rate in ((32, 0.05), (160, 0.22)):
        limits = []
        for _ in range(n):
            found = rule.highest(_rates(rng, [rate] * cells, 300))
            limits.append((found.lower, rate, found.upper))
        where = f"{cells} cells of 300 items, all truly {rate:.0%}"
        yield Result("highest of many rates", where, 0.95, *held(limits))
