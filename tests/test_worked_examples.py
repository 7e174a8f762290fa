"""The worked numbers of the documentation are what the library's own functions give."""

from collections.abc import Sequence
from math import hypot
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.stats.association import common_odds_ratio, spearman
from userturn.stats.clustered_measures import clustered_mean
from userturn.stats.margins import Counts, change, combination, detectable_difference, rates
from userturn.stats.prediction_powered import Corrected, Labelled, corrected_rate, difference
from userturn.stats.proportions import (
    Interval,
    Patterns,
    clustered_rate,
    design_effect,
    labels_to_reach,
    wilson,
)
from userturn.stats.sample_size import (
    Turns,
    items_for_difference,
    level_of,
    models_for_decoupled,
)
from userturn.stats.significance import (
    Margins,
    benjamini_hochberg,
    equivalence,
    holm,
    sign_flip_p,
)
from userturn.tables.chance_floor import measure
from userturn.tables.repeated_trainings import distance

# Items by how many turns each has without a perturbation and after a truncated answer, how many of
# these are genuine, and how many such items there are: 12 of 40 are genuine, and 15 of 38.
ITEMS = np.array(
    [
        [1, 1, 1, 1, 11],
        [1, 1, 1, 0, 1],
        [1, 0, 1, 1, 3],
        [1, 0, 1, 0, 21],
        [1, 0, 0, 0, 4],
        [0, 0, 1, 1, 1],
        [0, 0, 1, 0, 1],
    ],
    dtype=float,
)
BOTH = Counts(ITEMS[:, 4], ITEMS[:, [0, 2]], ITEMS[:, [1, 3]])


def points(found: Sequence[float | None] | Interval) -> str:
    """Return a change with its limits, in points."""
    value, lower, upper = (100 * (x or 0) for x in found[:3])
    return f"{value:+.1f} [{lower:.1f}, {upper:.1f}] points".replace("-", "−")


def percent(found: Sequence[float | None] | Interval) -> str:
    """Return a share with its limits, in percent."""
    value, lower, upper = (100 * (x or 0) for x in found[:3])
    return f"{value:.1f}% [{lower:.1f}, {upper:.1f}]"


def number(found: Sequence[float | None] | Interval, digits: int = 2) -> str:
    """Return a number with its limits."""
    value, lower, upper = (f"{x or 0:.{digits}f}" for x in found[:3])
    return f"{value} [{lower}, {upper}]".replace("-", "−")


def of_floor() -> dict[str, Any]:
    """Return the floor of 40 turns, 12 of them genuine, of which 20 were judged again: 2 are."""
    items = pl.DataFrame({"item": range(40), "source": "d", "n": 1, "y": [1] * 12 + [0] * 28})
    again = [1] * 6 + [0] * 6 + [1] * 14 + [0] * 14
    items = items.with_columns(n_turns=pl.Series(again), m=pl.Series(again))
    items = items.with_columns(z=pl.Series([1, 1] + [0] * 38))
    return measure(items, Interval(0.76, 0.55, 0.9))


def two_families() -> Counts:
    """Return 40 items under both conditions in two families: 12, 16 and 8, 8 of 40 are genuine."""
    genuine = np.zeros((40, 4))
    for column, (first, last) in enumerate([(0, 12), (0, 16), (4, 12), (4, 12)]):
        genuine[first:last, column] = 1
    return Counts(np.ones(40), np.ones((40, 4)), genuine)


def labelled(called: int, missed: int) -> tuple[np.ndarray, Labelled]:
    """Return 1,000 turns, 300 called genuine, and labels of 20 drawn on either side."""
    said = (
        np.repeat([1.0, 0.0], [called, 20 - called]),
        np.repeat([1.0, 0.0], [missed, 20 - missed]),
    )
    sides = np.repeat([1.0, 0.0], 20)
    weights = np.repeat([300 / 20, 700 / 20], 20)
    sample = Labelled(np.concatenate(said), sides, weights, sides.astype(int))
    return np.repeat([1.0, 0.0], [300, 700]), sample


def limits_of(found: Corrected) -> Interval:
    """Return a corrected rate with its limits."""
    return Interval(found.estimate, found.lower, found.upper)


SHARED = np.array([-1.0, 0.0, 1.0]), np.array([1, 32, 3])  # changes of the items scored in both
ODDS = common_odds_ratio(np.array([[8, 12, 12, 28], [3, 7, 9, 21]]))
RHO = spearman(
    np.array([30.0, 35, 42, 51, 55, 63, 70, 74]), np.array([12.0, 9, 18, 11, 22, 15, 14, 25]),
    1000, np.random.default_rng(0),
)  # fmt: skip
NEAR_ZERO = equivalence(lambda confidence: wilson(1, 200, confidence), Margins(None, 0.05))
GAINS = [0.02, 0.05, 0.08, 0.1, 0.12, 0.15, 0.18, 0.21, 0.25, 0.34]
CORRECTED = corrected_rate(*labelled(10, 2))
LATER = corrected_rate(*labelled(14, 2))
WORTH = 0.3 * 10.5 / 21 + 0.7 * 2.5 / 21  # half a label is added to either side
WORTH = WORTH * (1 - WORTH) / CORRECTED.variance
FLOOR = of_floor()
TWO_FAMILIES = two_families()

ENDS = ("", "_lower", "_upper")
SAMPLES = Patterns(  # 20 items of 5 samples, counted by how many of these are genuine
    np.array([14.0, 2, 2, 2]), np.full(4, 5.0), np.array([0.0, 1, 3, 5])
)
THREE = np.array([0.01, 0.02, 0.04])
EXAMPLES = {
    "rate": (
        f"12 of 40 scored turns are genuine: {percent(rates(BOTH)[0])}. After a truncated answer "
        f"15 of 38 are: {percent(rates(BOTH)[1])}"
    ),
    "change": (
        f"{points(change(BOTH))}. Of the 36 items scored under both conditions 3 rose and 1 fell: "
        f"McNemar's mid-p is {sign_flip_p(*SHARED, seen=0.5):.3f}"
    ),
    "floor": (
        "After other items' answers 2 of 20 of these turns are genuine: "
        f"{percent([FLOOR['floor' + end] for end in ENDS])}. Above the floor are "
        f"{points([FLOOR['above_floor' + end] for end in ENDS])}"
    ),
    "share that reacts": (
        "With a sensitivity of .76 [.55, .90]: (30 − 10) / (76 − 10) = "
        f"{percent([FLOOR['reacts' + end] for end in ENDS])}"
    ),
    "difference of two changes": (
        "In one family 12 of 40 turns become 16 of 40, in another 8 of 40 remain 8: "
        f"{points(combination(TWO_FAMILIES, np.array([-1.0, 1.0, 1.0, -1.0])))}"
    ),
    "corrected rate": (
        "Of 1,000 turns a judge calls 300 genuine. Of 20 drawn from these people call 10 genuine, "
        "of 20 others 2: 0.3 · 10/20 + 0.7 · 2/20 = "
        f"{percent(limits_of(CORRECTED))}"
    ),
    "its change": (
        "Under a condition the judge calls 300 others, and people 14 and 2: "
        f"{percent(limits_of(LATER))}, a change of {points(difference(CORRECTED, LATER, 0.0))}"
    ),
    "odds ratio": (
        "After 20 right answers 8 turns are genuine, after 40 wrong ones 12; elsewhere 3 of 10 and "
        "9 of 30: "
        f"{number(ODDS)}, p = {ODDS.p:.2f}"
    ),
    "rank correlation": (
        f"Eight models of eight families: {number(RHO)}, p = {RHO.p:.2f} over all 40,320 pairings"
    ),
    "equivalence": (
        f"1 of 200 turns is genuine: {percent(NEAR_ZERO.interval)} at 90%. The margin is 5%, so "
        f"the rate is near zero, p = {NEAR_ZERO.p:.3f}"
    ),
}
IN_THE_TEXT = {
    "methods": (
        f"The rate is {100 * (clustered_rate([SAMPLES], 'micro')[0].estimate or 0):.1f}%, *deff* "
        f"is {design_effect(SAMPLES):.2f}, and the limits "
        f"{percent(clustered_rate([SAMPLES], 'micro')[0]).partition(' ')[2]} are wider than the "
        f"{percent(wilson(18, 100)).partition(' ')[2]} of 100 independent turns",
        f"become {', '.join(f'{p:.2f}'[1:] for p in holm(THREE)[:2])} and "
        f"{f'{holm(THREE)[2]:.2f}'[1:]} by Holm",
        f"and {', '.join(f'{p:.2f}'[1:] for p in benjamini_hochberg(THREE)[:2])} and "
        f"{f'{benjamini_hochberg(THREE)[2]:.2f}'[1:]} by Benjamini and Hochberg",
        f"{100 * float(detectable_difference(300, 0.1, level_of(1))):.1f} points with 300 items",
        f"gives {percent(wilson(12, 40))}; 50% is guessing",
        f"| {items_for_difference(Turns(0.2, 1.0, 0.0), 0.05, 1, 22):,} items |",
        f"| {models_for_decoupled(0.3)} models |",
        f"example above {WORTH:.0f} of 1,000, with a standard error of "
        f"{100 * CORRECTED.variance**0.5:.1f} points",
        f"= {distance([2, 5, 8]):.1f} points from their mean. If that over items is 4 points away, "
        f"the row's is √(7.5² + 4²) = {hypot(distance([2, 5, 8]), 4):.1f}",
    ),
    "controls": (f"18 of 20, {percent(wilson(18, 20))}",),
    "likelihood": (
        f"19 of 20 is {percent(wilson(19, 20))}",
        "Ten gains of .02 to .34 nats per character have the mean "
        f"{number(clustered_mean(GAINS, list('abcdefghij')))}",
    ),
    "measured": (
        f"is {100 * (rates(BOTH)[0].estimate or 0):.1f}%, with the 95% interval "
        f"{percent(rates(BOTH)[0]).partition(' ')[2]}",
        f"| 30.0% | 10.0% | {points([FLOOR['above_floor' + end] for end in ENDS])} |",
        f"= {percent(limits_of(CORRECTED))}",
        f"after a truncated answer: {points(change(BOTH))}",
        f"with {labels_to_reach(0.9, 0, 0)} of {labels_to_reach(0.9, 0, 0)} right",
    ),
}


def page(name: str) -> str:
    """Return a page of the documentation, its lines joined."""
    return " ".join((ROOT / "docs" / f"{name}.md").read_text("utf-8").split())


@pytest.mark.parametrize("quantity", EXAMPLES)
def test_an_example_in_the_methods_is_what_the_library_computes(quantity: str) -> None:
    assert f"| {quantity} | {EXAMPLES[quantity]} |" in page("methods")


@pytest.mark.parametrize("name", IN_THE_TEXT)
def test_numbers_in_the_text_are_what_the_library_computes(name: str) -> None:
    assert [one for one in IN_THE_TEXT[name] if one not in page(name)] == []


def test_numbers_of_an_example_subtract() -> None:
    before, after = rates(BOTH)
    assert change(BOTH).estimate == pytest.approx((after.estimate or 0) - (before.estimate or 0))
    above = FLOOR["floor"] + FLOOR["above_floor"]
    assert above == pytest.approx(before.estimate)
    assert FLOOR["reacts"] == pytest.approx(0.2 / 0.66)  # (.30 - .10) / (.76 - .10)
    assert CORRECTED.estimate == pytest.approx(0.22)
