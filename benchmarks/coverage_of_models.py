"""What is over models, sizes, conversations and many tests: parts of `coverage.py`."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks.simulated import Array, Generator, Result, held, items
from tests.support.paired_counts import mcnemar
from userturn.stats.association import (
    Odds,
    attenuation,
    common_odds_ratio,
    drop_biased_interval,
    spearman,
)
from userturn.stats.proportions import Patterns, clustered_rate, wilson_limits
from userturn.stats.significance import benjamini_hochberg
from userturn.tables.beside_accuracy import size_slopes
from userturn.tables.turn_rates import rate_over

SLOPES = ((30, (0.1, 0.1, 0.1)), (300, (0.01,) * 8), (300, (0.01, 0.03, 0.05, 0.1)))


def _family(rng: Generator, size: int, rates: tuple[float, ...]) -> tuple[pl.DataFrame, ...]:
    """Return the items of a family's models, some easier for all, and the models' sizes."""
    n = len(rates)
    easier = rng.beta(2, 2, size) * 2  # of mean 1: items bring models together
    genuine = rng.random((n, size)) < np.outer(rates, easier)
    turns = pl.DataFrame(
        {
            "model": np.repeat([f"m{i}" for i in range(n)], size),
            "item": np.tile(np.arange(size).astype(str), n),
            "n_genuine": genuine.ravel().astype(int),
        }
    ).with_columns(
        family=pl.lit("f"), dataset=pl.lit("d"), judge=pl.lit("j"), temperature=0.0,
        perturbation=pl.lit("none"), n_scored=1,
    )  # fmt: skip
    sizes = {"model": [f"m{i}" for i in range(n)], "size": [2.0**i for i in range(n)]}
    return turns, pl.DataFrame(sizes).with_columns(dataset=pl.lit("d"))


def slopes(rng: Generator, n: int) -> Iterator[Result]:
    """Yield the coverage of the slope over sizes of models that answered the same items."""
    for size, rates in SLOPES:
        doublings = np.arange(len(rates))
        truth, limits = float(np.polyfit(doublings, rates, 1)[0]), []
        for _ in range(n):
            found = size_slopes(*_family(rng, size, rates))["f", "d", 0.0, "j"]
            limits.append((found.lower, truth, found.upper))
        where = f"{len(rates)} sizes at {', '.join(dict.fromkeys(map(str, rates)))}, {size} items"
        yield Result("slope over sizes", where, 0.95, *held(limits))


def correlated(rng: Generator, n: int) -> Iterator[Result]:
    """Yield false rejections of Spearman's test, and its coverage with rates at their floor."""
    false = 0
    for _ in range(n):
        x, y = rng.standard_normal((2, 11))
        false += (spearman(x, y, 1000, rng).p or 1) < 0.05
    yield Result("Spearman's permutation p, false rejections", "11 models", 0.05, false / n)
    for rate, size in ((0.02, 300), (0.02, 4197), (0.2, 300)):
        limits = []
        for _ in range(n):
            x, y = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 11).T
            drawn = rng.binomial(size, np.minimum(rate * np.exp(0.3 * y), 1))
            factor = attenuation([(drawn / size, *wilson_limits(drawn, size))])
            found = drop_biased_interval(spearman(x, drawn / size, 1, rng), factor)
            if found.lower is not None:
                limits.append((found.lower, 6 / np.pi * np.arcsin(0.4), found.upper))
        where = f"11 models, correlation 0.8 with rates of about {rate:.0%} of {size:,} items"
        yield Result("Spearman, share of studies with an interval", where, None, len(limits) / n)
        if len(limits) > n / 20:
            yield Result("Spearman of rates, where it has one", where, 0.95, *held(limits))


def of_families(rng: Generator, n: int) -> Iterator[Result]:
    """Yield coverage and false rejections where models of one family are alike in both values."""
    for sizes in ((8, 2, 1), (4, 4, 3), (3,) * 8):
        family = np.repeat(np.arange(len(sizes)), sizes)
        for spread in (1, 2):  # of families, in standard deviations of their models
            found = []
            for _ in range(n):
                x, y = spread * rng.standard_normal((2, len(sizes)))[:, family]
                own = rng.standard_normal((2, len(family)))
                names = list(map(str, family))
                found.append(spearman(x + own[0], y + own[1], 200, rng, families=names))
            where = f"families of {', '.join(map(str, sizes))}, {spread} sd apart"
            limits = [(f.lower, 0.0, f.upper) for f in found if f.lower is not None]
            defined = f"{where} (defined in {len(limits) / n:.0%})"
            yield Result("Spearman of families", defined, 0.95, *held(limits))
            false = np.mean([f.p is not None and f.p < 0.05 for f in found])
            yield Result("its p, false rejections", where, 0.05, float(false))


def over_items(rng: Generator, n: int) -> Iterator[Result]:
    """Yield false rejections and coverage of the odds ratio of right answers, few or rare."""
    regimes: tuple[tuple[str, tuple[tuple[int, float], ...], float, float], ...] = (
        ("40 items, follow-up .3", ((40, 0.1),), 0.3, 1.0),
        ("three datasets, follow-up .02", ((1319, 0.9), (500, 0.6), (300, 0.3)), 0.02, 1.0),
        (
            "three datasets, follow-up .1, odds ratio 2",
            ((1319, 0.9), (500, 0.6), (300, 0.3)),
            0.1,
            2.0,
        ),
        ("1319 items, follow-up .005", ((1319, 0.9),), 0.005, 1.0),
        ("300 items, follow-up .01, odds ratio 3", ((300, 0.96),), 0.01, 3.0),
    )
    for where, datasets, followup, ratio in regimes:
        found = [_odds_of(rng, datasets, followup, ratio) for _ in range(n)]
        limits = [(o.lower, ratio, o.upper) for o in found if o.lower is not None]
        defined = f"{where} (defined in {len(limits) / n:.0%})"
        inside = np.mean([lower <= ratio <= (upper or np.inf) for lower, _, upper in limits])
        if ratio == 1:
            false = sum((1.0 if o.p is None else o.p) < 0.05 for o in found) / n
            yield Result("odds ratio, false rejections", where, 0.05, false)
        yield Result("odds ratio", defined, 0.95, float(inside))


def _odds_of(
    rng: Generator, datasets: tuple[tuple[int, float], ...], followup: float, ratio: float
) -> Odds:
    """Return the odds ratio of datasets of known size and accuracy."""
    tables = []
    for size, accuracy in datasets:
        right = rng.random(size) < accuracy
        odds = followup / (1 - followup) * np.where(right, ratio, 1.0)
        up = rng.random(size) < odds / (1 + odds)
        counts = (right & up, right & ~up, ~right & up, ~right & ~up)
        tables.append([int(count.sum()) for count in counts])
    return common_odds_ratio(np.array(tables))


def _grouped(rng: Generator, sizes: Array, rate: float, alike: float) -> pl.DataFrame:
    chances = np.repeat(items(rng, len(sizes), rate, alike), sizes)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return pl.DataFrame({"group": groups, "genuine": rng.random(len(groups)) < chances})


def clusters(rng: Generator, n: int) -> Iterator[Result]:
    """Yield the coverage of rates of turns in conversations, injections, several temperatures."""
    trees = np.concatenate([np.full(100, 1), np.full(40, 3), np.full(10, 12)])
    for where, sizes, rate, alike in (
        ("150 trees of 1 to 12 human turns, rate 0.44, correlation 0.3", trees, 0.44, 0.3),
        ("20 items of 7 injections, rate 0.1, correlation 0.6", np.full(20, 7), 0.1, 0.6),
    ):
        limits = []
        for _ in range(n):
            found, _ = rate_over(_grouped(rng, sizes, rate, alike), ["group"])
            limits.append((found.lower, rate, found.upper))
        yield Result("rate over conversations", where, 0.95, *held(limits))
    for size, rate, alike in ((300, 0.22, 0.9), (30, 0.05, 0.6)):
        limits = []
        for _ in range(n):
            drawn = rng.binomial(5, items(rng, size, rate, alike)).astype(float)
            counted = Patterns(np.ones(size), np.full(size, 5.0), drawn)
            found, _ = clustered_rate([counted], "micro")
            limits.append((found.lower, rate, found.upper))
        where = f"5 temperatures of {size} items, rate {rate}, correlation {alike}"
        yield Result("rate pooled over temperatures", where, 0.95, *held(limits))


def discoveries(rng: Generator, n: int) -> Iterator[Result]:
    """Yield the share of false discoveries among 40 explored changes of which 10 are true."""
    shares = []
    for _ in range(n):
        change = np.where(np.arange(40) < 10, 0.06, 0.0)[:, None]
        base = rng.random((40, 500)) < 0.1
        after = rng.random((40, 500)) < 0.1 + change
        p = mcnemar((base & ~after).sum(1), (after & ~base).sum(1))
        found = benjamini_hochberg(p) < 0.05
        shares.append(found[10:].sum() / max(1, found.sum()))
    where = "40 tests of 500 items, 10 true rises"
    yield Result("Benjamini-Hochberg, false discoveries", where, 0.05, float(np.mean(shares)))
