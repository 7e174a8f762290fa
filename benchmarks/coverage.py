"""How often intervals hold the truth and tests reject what is true, where they may not.

From the project's folder: `python -m benchmarks.coverage 2000`, in replications; it writes the
table of benchmarks/coverage.md, with the commit. Truth is known, since everything is drawn here.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.coverage_of_choices import choices
from benchmarks.coverage_of_claims import bounds, claims, interactions, rounds
from benchmarks.coverage_of_crossings import crossings
from benchmarks.coverage_of_models import (
    clusters,
    correlated,
    discoveries,
    of_families,
    over_items,
    slopes,
)
from benchmarks.coverage_of_outcomes import outcomes
from benchmarks.coverage_of_scores import areas, cards, floors, identified
from benchmarks.coverage_of_tests import agreements, associations, corrected, families
from benchmarks.power import promises
from benchmarks.simulated import PAPER, Generator, Result, held, items, patterns
from tests.support.paired_counts import mcnemar, newcombe
from userturn.stats.margins import change as change_of
from userturn.stats.margins import side_by_side
from userturn.stats.proportions import clustered_rate, wilson_limits
from userturn.stats.significance import sign_flip_p

Regime = tuple[int, float, float | None]  # items, rate, correlation of an item's turns
GREEDY: tuple[Regime, ...] = (
    (30, 0.05, None),
    (100, 0.05, None),
    (100, 0.02, 0.3),
    (300, 0.02, 0.3),
)


WILSON = ((10, 0.05), (30, 0.005), (30, 0.02), (30, 0.5), (100, 0.001), (100, 0.005), (1319, 0.002))


def rates(rng: Generator, n: int) -> Iterator[Result]:
    """Yield the coverage of rates: one turn an item, several, alike ones, several datasets."""
    for size, rate in WILSON:
        lower, upper = wilson_limits(rng.binomial(size, rate, n), size)
        found = held(list(zip(lower, np.full(n, rate), upper, strict=True)))
        yield Result("Wilson", f"{size} items, rate {rate}", 0.95, *found)
    several = ((10, 0.1, 0.5), (10, 0.5, 0.9), (30, 0.05, 0.3), (100, 0.02, 0.5), (300, 0.22, 0.9))
    for size, rate, alike in several:
        limits = []
        for _ in range(n):
            drawn = rng.binomial(5, items(rng, size, rate, alike))
            interval, _ = clustered_rate([patterns(5, drawn)], "micro")
            limits.append((interval.lower, rate, interval.upper))
        where = f"{size} items of 5 turns, rate {rate}, correlation {alike}"
        yield Result("rate over items", where, 0.95, *held(limits))
    mixed = {
        "1,319 items at .01 and 10 at .05": [(1319, 0.01), (10, 0.05)],
        "1,319 items at .2, 30 at .03, 10 at .5": [(1319, 0.2), (30, 0.03), (10, 0.5)],
        "five of 30 items at 0 to .03": [(30, 0.01 * min(i, 3)) for i in range(5)],
        "the paper's datasets, at .002 and .005": [
            (size, 0.002 if i % 2 else 0.005) for i, size in enumerate(PAPER)
        ],
        "60 items at .3 and 40 at 0": [(60, 0.3), (40, 0.0)],
    }
    for where, datasets in mixed.items():
        truth, limits = float(np.mean([rate for _, rate in datasets])), []
        for _ in range(n):
            drawn = [patterns(1, rng.random(size) < rate) for size, rate in datasets]
            interval, _ = clustered_rate(drawn, "macro")
            limits.append((interval.lower, truth, interval.upper))
        yield Result("macro rate", where, 0.95, *held(limits))


def paired(rng: Generator, n: int) -> Iterator[Result]:
    """Yield coverage of the difference and false rejections: equal rates, greedy and sampled."""
    for size, rate, alike in ((30, 0.01, 0), (30, 0.05, 0), (300, 0.02, 0.8), (1319, 0.1, 0.5)):
        chance = items(rng, size * n, rate, alike).reshape(n, size)
        first, second = rng.random((2, n, size)) < chance
        table = [(first & second), (first & ~second), (~first & second), (~first & ~second)]
        counts = [part.sum(1) for part in table]
        _, lower, upper = newcombe(*counts)
        found = held(list(zip(lower, np.zeros(n), upper, strict=True)))
        where = f"{size} items, rates {rate}, correlation {alike}"
        yield Result("difference, one turn each", where, 0.95, *found)
        false = float((mcnemar(counts[1], counts[2]) < 0.05).mean())
        yield Result("McNemar's mid-p, false rejections", where, 0.05, false)
    for size, rate, alike in GREEDY:
        where = f"{size} items, rate {rate}, " + (
            "greedy by item, sampled by chance" if alike is None else f"correlation {alike}"
        )
        yield from _several(rng, n, (size, rate, alike), (1, 5), f"greedy and 5 samples: {where}")
    for size, rate, alike in ((10, 0.1, 0.3), (30, 0.1, 0.3), (300, 0.02, 0.5)):
        where = f"5 and 5 samples: {size} items, rate {rate}, correlation {alike}"
        yield from _several(rng, n, (size, rate, alike), (5, 5), where)


def _several(
    rng: Generator,
    n: int,
    regime: tuple[int, float, float | None],
    turns: tuple[int, int],
    where: str,
) -> Iterator[Result]:
    size, rate, alike = regime
    limits, rises, falls = [], 0, 0
    for _ in range(n):
        if alike is None:  # a share of items is always genuine, greedily; the others when sampled
            before = (rng.random(size) < rate).astype(int)
            chance = np.where(before == 1, 0.0, rate / (1 - rate))
        else:
            chance = items(rng, size, rate, alike)
            before = rng.binomial(turns[0], chance)
        samples = rng.random((turns[1], size)) < chance
        after = samples.sum(0)
        found = change_of(side_by_side((turns[0], before), (turns[1], after)))
        limits.append((found.lower, 0.0, found.upper))
        change = samples[0] - before if turns[0] == 1 else (after - before) / 5
        p = sign_flip_p(change.astype(float), np.ones(size), 0.5 if turns[0] == 1 else 1.0)
        rises += p < 0.05 and change.sum() > 0
        falls += p < 0.05 and change.sum() < 0
    yield Result("difference, several turns", where, 0.95, *held(limits))
    yield Result("its test, false rises", where, 0.025, rises / n)
    yield Result("its test, false falls", where, 0.025, falls / n)


SUITE: list[Callable[[Generator, int], Iterator[Result]]] = [
    rates, paired, agreements, families, associations, corrected,
    interactions, claims, bounds, rounds, promises, outcomes,
    slopes, correlated, of_families, over_items, clusters, discoveries,
    identified, areas, cards, floors,
    choices, crossings,
]  # fmt: skip


def suite(n: int, seed: int = 0) -> list[Result]:
    """Return every regime's result, over n replications each."""
    return [result for part in SUITE for result in part(np.random.default_rng(seed), n)]


def table(results: list[Result]) -> str:
    """Return results as a Markdown table."""
    lines = ["| statistic | regime | nominal | attained | mean width |", "|---|---|---|---|---|"]
    for r in results:
        width = "" if r.width is None else f"{r.width:.3f}"
        nominal = "" if r.nominal is None else r.nominal
        lines.append(f"| {r.statistic} | {r.regime} | {nominal} | {r.attained:.3f} | {width} |")
    return "\n".join(lines)


def written(text: str, results: list[Result], heading: str) -> str:
    """Return a document with a new table between its marks, below a heading of one line."""
    before, start, rest = text.partition("<!-- coverage -->\n")
    _, end, after = rest.partition("\n<!-- end of coverage -->")
    return f"{before}{start}{heading}\n\n{table(results)}{end}{after}"


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    commit = subprocess.check_output(["git", "describe", "--always", "--dirty"], text=True).strip()
    made = f"`python -m benchmarks.coverage {n}` at {commit}, {n:,} replications each:"
    page = Path("benchmarks/coverage.md")
    page.write_text(written(page.read_text(), suite(n), made))
