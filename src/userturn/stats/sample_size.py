"""The numbers of items, samples and labels that a study needs for a given precision or power.

A rate has Wilson's interval at the effective number of turns, n k / (1 + (k - 1) ρ) for n items of
k samples with the intraclass correlation ρ (Kish 1965, Survey Sampling, section 5.4). A change
solves n δ² = (z₁√ψ + z₂√(ψ - δ²))² at the level of Holm's first step, where ψ is the mean square of
an item's change (Connor 1987, Biometrics 43:207-211). For two models' shares of reference
follow-ups, half the square of the first quantile is added in conversations (Guenther 1981, Am Stat
35:243-244). Their mean gains have the test over conversations, simulated where these are few.
Neyman's allocation shares labels between the two sides of a judge.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from userturn.stats.clustered_measures import studentised_p
from userturn.stats.margins import POWER
from userturn.stats.prediction_powered import allocated
from userturn.stats.proportions import CONFIDENCE, quantile_of, wilson_limits

STUDIES = 4000  # simulated for an assurance, whose standard error is then below .01
CERTAIN = 1e-6  # correlations this near to 0 or 1 count as such
MOST_VALUES = 4_000_000  # values of all these studies
MOST = 10**9  # items or labels: a larger number counts as unattainable


class Turns(NamedTuple):
    """Assumptions about the turns of a study."""

    rate: float  # of genuine turns
    alike: float  # intraclass correlation of an item's samples
    related: float  # correlation of two turns of an item under two conditions


class Judge(NamedTuple):
    """Assumed sensitivity and specificity of a judge, by people's labels."""

    sensitivity: float
    specificity: float


def smallest(holds: Callable[[int], bool]) -> int | None:
    """Return the smallest number from 1 at which a monotone condition holds, None beyond `MOST`."""
    powers = (2**k for k in range((MOST - 1).bit_length() + 1))
    high = next(filter(holds, powers), None)
    return None if high is None else bisect_left(range(high), True, high // 2 + 1, key=holds)


def _half_width(rate: float, worth: float) -> float:
    """Return the half-width of Wilson's interval of a rate of `worth` turns."""
    lower, upper = wilson_limits(rate * worth, worth)
    return float(upper - lower) / 2


def assured_half_width(turns: Turns, n_items: int, n_samples: int, assurance: float) -> float:
    """Return the half-width that the share `assurance` of studies does not exceed.

    Studies are drawn whose items have beta-distributed rates, always the same studies, and each is
    given the interval of `proportions`. So both the observed rate and the correlation of samples
    vary between studies.
    """
    from scipy.stats import betabinom  # seconds

    k, scale = n_samples, (1 - turns.alike) / max(turns.alike, CERTAIN)
    scale = min(max(scale, CERTAIN), 1 / CERTAIN)
    positive = np.arange(k + 1.0)
    if 0 < turns.rate < 1:
        chances = betabinom.pmf(positive, k, turns.rate * scale, (1 - turns.rate) * scale)
    else:
        chances = (positive == k * turns.rate).astype(float)
    studies = np.random.default_rng(0).multinomial(n_items, chances / chances.sum(), STUDIES)
    seen = studies @ positive
    # As `proportions.design_effect`, of many studies at once.
    middle = (seen / k + 0.5) / (n_items + 1)
    spread = studies @ positive**2 - 2 * middle * k * seen + n_items * (middle * k) ** 2
    spread += k**2 * ((1 - middle) ** 2 + middle**2) / 2
    effect = np.maximum(1.0, spread / ((n_items + 1) * k * middle * (1 - middle)))
    worth = n_items * k / effect
    lower, upper = wilson_limits(seen / (n_items * k) * worth, worth)
    return float(np.quantile((upper - lower) / 2, assurance))


def items_for_half_width(
    turns: Turns, wished: float, n_samples: int, assurance: float | None = None
) -> int | None:
    """Return the number of items that give a rate an interval of ± `wished`, or None (`smallest`).

    The interval has that width on average, or in the share of studies that `assurance` says (Kupper
    and Hafner 1989, Am Stat 43:101-105), since half of the studies are wider than the average.
    """
    if assurance is None:
        worth = n_samples / (1 + (n_samples - 1) * turns.alike)  # of an item
        return smallest(lambda n: _half_width(turns.rate, n * worth) <= wished)
    return smallest(lambda n: assured_half_width(turns, n, n_samples, assurance) <= wished)


def mean_square_change(turns: Turns, difference: float, n_samples: int) -> float:
    """Return ψ, the mean square of the change of an item's share of n_samples turns.

    With one sample, or several that are all alike, ψ is the share of items that differ, which is at
    least the difference itself. Otherwise ψ is at least the square of the difference plus the
    variance of the samples, which are independent given their item.
    """
    before = turns.rate * (1 - turns.rate)
    after = (turns.rate + difference) * (1 - turns.rate - difference)
    within = (before + after) * (turns.alike + (1 - turns.alike) / n_samples)
    shared = 2 * turns.related * (before * after) ** 0.5
    apart = (before + after) * (1 - turns.alike) / n_samples
    is_one = n_samples == 1 or turns.alike == 1
    least = abs(difference) if is_one else difference**2 + apart
    return float(max(within - shared + difference**2, least))


def level_of(n_tests: int) -> float:
    """Return the level of Holm's first and strictest step over `n_tests` tests."""
    return (1 - CONFIDENCE) / n_tests


def described_level(n_tests: int, factor: str = "") -> str:
    """Return the level of `level_of` in words, for tests of a factor such as temperature."""
    level, of = f"at the level {level_of(n_tests):.2g}", f" of {factor}" if factor else ""
    adjusted = f", the strictest that Holm's adjustment asks of {n_tests} tests{of}"
    return f"{level}{adjusted if n_tests > 1 else ''}"


def items_for_difference(
    turns: Turns, difference: float, n_samples: int, n_tests: int = 1, power: float = POWER
) -> int:
    """Return the number of items that detect a change of the rate with a given power.

    The changed rate lies between 0 and 1. Each item has `n_samples` turns under each condition, and
    Holm's method adjusts for `n_tests` tests.
    """
    psi = mean_square_change(turns, difference, n_samples)
    z1, z2 = quantile_of(1 - level_of(n_tests)), quantile_of(2 * power - 1)
    size = abs(difference)
    root = z1 * psi**0.5 + z2 * max(psi - size**2, 0.0) ** 0.5
    return int(np.ceil((root / size) ** 2))


class FollowUps(NamedTuple):
    """Assumptions about the reference follow-ups on which two models are compared."""

    related: float  # correlation of two models' values of a follow-up
    design_effect: float  # what shared conversations multiply the variance of a difference by
    rate: float = 0.5  # share that the baseline identifies; of no use for a gain
    spread: float = 0.0  # standard deviation of a model's gains; of no use for a share
    per_conversation: float = 1.0  # follow-ups; never fewer than the design effect

    @property
    def cluster_size(self) -> float:
        """The number of follow-ups per conversation, at least the design effect."""
        return max(self.per_conversation, self.design_effect)


def follow_ups_for_share(
    assumed: FollowUps, difference: float, n_tests: int = 1, power: float = POWER
) -> int:
    """Return the number of follow-ups that tell two models' shares apart with a given power."""
    turns = Turns(assumed.rate, 1.0, assumed.related)
    n = items_for_difference(turns, difference, 1, n_tests, power)
    few = quantile_of(1 - level_of(n_tests)) ** 2 / 2  # conversations, as Guenther adds for means
    return int(np.ceil(n * assumed.design_effect + few * assumed.cluster_size))


def follow_ups_for_gain(
    assumed: FollowUps, difference: float, n_tests: int = 1, power: float = POWER
) -> int:
    """Return the number of follow-ups that tell two models' mean gains apart.

    The difference is in the unit of the spread. The test is over conversations, of which there are
    at least so many that sign flips can be significant. The result is `MOST` + 1 if none is enough.
    """
    level = level_of(n_tests)
    variance = 2 * assumed.spread**2 * (1 - assumed.related) * assumed.design_effect
    effect = abs(difference) * (assumed.cluster_size / variance) ** 0.5 if variance else np.inf
    least = smallest(
        lambda n: n > 1 and 2.0 ** (1 - n) <= level and _detects(n, effect, level) >= power
    )
    return MOST + 1 if least is None else int(np.ceil(least * assumed.cluster_size))


def _detects(n: int, effect: float, level: float) -> float:
    """Return the share of studies whose n conversations detect a mean of `effect` deviations.

    For few conversations, samples of a normal distribution are drawn, always the same ones, and
    tested by `mean_p`, whose result depends on the sample's skewness. For many conversations the
    test is Student's, which has the noncentral t distribution.
    """
    from scipy.stats import nct, t  # seconds

    studies = min(5 * STUDIES, MOST_VALUES // n)
    if studies < STUDIES:
        return float(nct.sf(float(t.ppf(1 - level / 2, n - 1)), n - 1, min(effect * n**0.5, 30.0)))
    samples = np.random.default_rng(0).standard_normal((studies, n)) + min(effect, 30.0)
    mean = samples.mean(1)
    from_mean = samples - mean[:, np.newaxis]
    square = (from_mean**2).sum(1)
    statistic = mean * n / np.sqrt(n / (n - 1) * square)
    p = studentised_p(statistic, (from_mean**3).sum(1) / square**1.5, n)
    return float((p < level).mean())


def models_for_decoupled(margin: float, n_tests: int = 1, power: float = POWER) -> int | None:
    """Return how many models show a rank correlation of 0 to lie within ± `margin`, or None.

    Each model is of a family of its own. The interval of confidence 1 - 2 x .05 / `n_tests`, of
    Bonett and Wright (`association`), must lie within the margins, while the observed correlation
    varies by 1 / √(n - 1) (Kendall 1938, Biometrika 30:81-93).
    """
    z = quantile_of(1 - 2 * level_of(n_tests))
    within = quantile_of(power)

    def shows(n: int) -> bool:
        seen = within / (n - 1) ** 0.5 if n > 4 else 1.0
        if seen >= 1:
            return False
        half = z * ((1 + seen**2 / 2) / (n - 3)) ** 0.5
        return bool(np.arctanh(seen) + half < np.arctanh(margin))

    return smallest(shows)


class _Side(NamedTuple):
    share: float  # of the turns that the judge puts on this side
    genuine: float  # of these, by people


def _sides(rate: float, judge: Judge) -> list[_Side]:
    """Return the turns that the judge calls genuine and those that it does not, unless empty."""
    yes = rate * judge.sensitivity + (1 - rate) * (1 - judge.specificity)
    missed = rate * (1 - judge.sensitivity)
    sides = ((yes, rate * judge.sensitivity), (1 - yes, missed))
    return [_Side(share, genuine / share) for share, genuine in sides if share > 0]


def corrected_half_width(turns: Turns, judge: Judge, n_turns: int, n_labels: int) -> float:
    """Return the half-width of the interval of a rate that is corrected with `n_labels` labels.

    It is computed as in `prediction_powered`, at the expected shares. Half a label of either kind
    is added to the variance of each side.
    """
    sides = _sides(turns.rate, judge)
    sizes = np.array([max(1, round(n_turns * side.share)) for side in sides])
    shares = np.array([side.genuine for side in sides])
    allocation = allocated(sizes, np.sqrt(shares * (1 - shares)), n_labels)
    middle = (allocation * shares + 0.5) / (allocation + 1)
    added = ((1 - middle) ** 2 + middle**2) / 2
    spread = (allocation * (shares * (1 - shares) + (shares - middle) ** 2) + added) / (
        allocation + 1
    )
    weights = sizes / sizes.sum()
    of_labels = float((weights**2 * (1 - allocation / sizes) * spread / allocation).sum())
    variance = turns.rate * (1 - turns.rate) / n_turns + of_labels
    smoothed = float(weights @ middle)
    most = float(n_turns)  # also where nothing varies: a rate of 0 or 1, and all turns labelled
    worth = min(most, smoothed * (1 - smoothed) / variance) if variance else most
    return _half_width(turns.rate, worth)


def labels_for_half_width(turns: Turns, judge: Judge, n_turns: int, wished: float) -> int | None:
    """Return the number of labels that give a corrected rate an interval of ± `wished` on average.

    None if even labels of all turns are too few.
    """
    if corrected_half_width(turns, judge, n_turns, n_turns) > wished:
        return None
    least = smallest(
        lambda n: corrected_half_width(turns, judge, n_turns, min(n, n_turns)) <= wished
    )
    return None if least is None else min(least, n_turns)
