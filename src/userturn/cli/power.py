"""`userturn power`: how many items, samples and labels a study needs, before it is run.

With `--measure` it tells how many reference follow-ups distinguish two models, with `--decoupled`
how many models show a correlation to be near 0. Each assumed number is printed with its source.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from userturn.cli.terminal import Output
from userturn.errors import UserError
from userturn.stats.margins import POWER
from userturn.stats.sample_size import (
    MOST,
    FollowUps,
    Judge,
    Turns,
    described_level,
    follow_ups_for_gain,
    follow_ups_for_share,
    items_for_difference,
    items_for_half_width,
    labels_for_half_width,
    models_for_decoupled,
)
from userturn.tables.likelihood_measures import UNITS
from userturn.tables.pilot import Assumption, pilot, pilot_follow_ups

HELP = "compute how many items, samples and labels a study needs"
EXAMPLES = (
    "power --pilot results --half-width .05 --difference .05",
    "power --rate .2 --difference .05 --tests 22",
    "power --decoupled .3",
)
SAMPLES = (1, 3, 5)
WISHES = {
    "half_width": "half the width of the interval of a rate, as a share",
    "difference": "change to be detected, as a share",
    "assurance": "share of studies whose interval is as narrow as asked",
    "decoupled": "largest rank correlation between models that counts as none",
}
MEANT = {
    "rate": "rate of genuine turns",
    "alike": "intraclass correlation of an item's samples",
    "related": "correlation of an item's turns under two conditions",
    "tests": "tests in the largest set that Holm adjusts",
    "sensitivity": "share of genuine turns that the judge calls genuine",
    "specificity": "share of the other turns that it calls not genuine",
    "turns": "turns of a corrected rate",
}
MEANT_OF_FOLLOW_UPS = {
    "rate": "share of follow-ups that the baseline identifies",
    "spread": "standard deviation of gains, nats a character",
    "related": "correlation of two models' values of a follow-up",
    "design_effect": "what shared conversations multiply the variance by",
    "per_conversation": "follow-ups of a conversation, at least the design effect",
    "tests": "tests in the largest set that Holm adjusts",
}
DEFAULTS = {
    "alike": (1.0, "the most cautious value"),
    "related": (0.0, "the most cautious value"),
    "design_effect": (1.0, "every follow-up of its own conversation"),
    "per_conversation": (1.0, "no more than their effect"),
    "tests": (1.0, "one test alone"),
}
RANGES = {  # allowed values of the assumptions about follow-ups
    **dict.fromkeys(("rate", "related"), (0.0, 1.0)),
    "spread": (1e-9, 1e9),
    **dict.fromkeys(("design_effect", "per_conversation", "tests"), (1.0, 1e9)),
}
OF_TURNS = (  # options that only rates take; OF_FOLLOW_UPS are those that only follow-ups take
    *("half_width", "judge", "alike", "sensitivity", "specificity", "turns", "samples"),
    *("assurance", "decoupled"),
)
OF_FOLLOW_UPS = ("spread", "design_effect", "per_conversation")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("--pilot", type=Path, metavar="RESULTS", help="a finished study's results")
    command.add_argument("--judge", help="judge of the pilot; default: its primary judge")
    numbers = MEANT | {name: MEANT_OF_FOLLOW_UPS[name] for name in OF_FOLLOW_UPS}
    for name, meaning in (WISHES | numbers).items():
        default = f"; default: {DEFAULTS[name][0]:g}" if name in DEFAULTS else ""
        command.add_argument(_option(name), type=float, metavar="NUMBER", help=meaning + default)
    power, samples = f"default: {POWER:g}", " ".join(map(str, SAMPLES))
    command.add_argument("--power", type=float, default=POWER, help=f"power of the test; {power}")
    command.add_argument(
        "--samples", type=int, nargs="+", help=f"samples of an item; default: {samples}"
    )
    command.add_argument(
        "--measure", choices=list(UNITS), help="measure of reference follow-ups, in place of rates"
    )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


class Needed(NamedTuple):
    """A needed sample size, in words and as numbers. None means that no size is enough."""

    words: str
    numbers: Mapping[str, Any]


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    if arguments.measure is not None:
        return _follow_ups_needed(arguments)
    _refuse(arguments, OF_FOLLOW_UPS, "is of reference follow-ups; add --measure")
    if arguments.decoupled is not None:
        return _models_needed(arguments)
    samples = arguments.samples or SAMPLES
    from_pilot = {} if arguments.pilot is None else pilot(arguments.pilot, arguments.judge)
    assumed = _assumptions(arguments, MEANT, from_pilot)
    _check(arguments, assumed)
    targets = arguments.half_width, arguments.difference
    if targets == (None, None):
        raise UserError(
            "nothing to compute; expected --half-width, --difference, both, or --decoupled"
        )
    needed = []
    if arguments.half_width is not None:
        needed += [_items_for_rate(assumed, arguments.half_width, samples, arguments.assurance)]
        needed += [_labels_for_rate(assumed, arguments.half_width)]
    if arguments.difference is not None:
        needed += [_items_for_change(assumed, arguments.difference, samples, arguments.power)]
    return _output(assumed, MEANT, needed)


def _output(
    assumed: Mapping[str, Assumption], meant: Mapping[str, str], needed: Sequence[Needed]
) -> Output:
    lines = [
        f"  {meant[name]:<52} {'?' if value is None else f'{value:.4g}':>8}  {source}"
        for name, (value, source) in assumed.items()
    ]
    listed = "\n".join(["assumed", *lines])
    words = "\n\n".join([listed, *(one.words for one in needed)])
    numbers = {name: value for one in needed for name, value in one.numbers.items()}
    return Output([words], {"assumed": assumed, **numbers})


def _refuse(arguments: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Raise a `UserError` if an option is given that has no effect."""
    for name in names:
        if getattr(arguments, name) is not None:
            raise UserError(f"{_option(name)} {why}")


def _assumptions(
    arguments: argparse.Namespace, names: Iterable[str], of_pilot: Mapping[str, Assumption]
) -> dict[str, Assumption]:
    """Return each assumption from its option, the pilot, or the default with its reason."""
    assumed = {}
    for name in names:
        assumption = of_pilot.get(name, Assumption(None, "not given"))
        if (value := getattr(arguments, name)) is not None:
            assumption = Assumption(value, "given")
        elif assumption.value is None and name in DEFAULTS:
            default, why = DEFAULTS[name]
            assumption = Assumption(default, f"{assumption.source}: {why}")
        assumed[name] = assumption
    return assumed


def _check(arguments: argparse.Namespace, assumed: Mapping[str, Assumption]) -> None:
    rate = assumed["rate"].value
    if rate is None:
        raise UserError(f"rate: {assumed['rate'].source}; give --rate, or --pilot with a study")
    shares = {name: assumed[name].value for name in MEANT if name not in ("tests", "turns")}
    for name, value in shares.items():
        if value is not None and not 0 <= value <= 1:
            raise UserError(f"{name}: found {value:g}, expected a share from 0 to 1")
    _check_wishes(arguments, rate)
    sizes = [("tests", assumed["tests"].value), ("turns", assumed["turns"].value)]
    for name, size in [*sizes, *(("samples", float(k)) for k in arguments.samples or ())]:
        if size is not None and not (1 <= size <= MOST and size == int(size)):
            raise UserError(f"{name}: found {size:g}, expected a whole number from 1 to 1e9")


def _check_wishes(arguments: argparse.Namespace, rate: float) -> None:
    width, change = arguments.half_width, arguments.difference
    if width is not None and not 0 < width < 0.5:
        raise UserError(
            f"half-width: found {width:g}, expected a number above 0 and below 0.5, half of an "
            "interval"
        )
    if change is not None and (change == 0 or not 0 <= rate + change <= 1):
        raise UserError(
            f"difference: found {change:g}, expected a change other than 0 that leaves the rate, "
            f"{rate:g}, between 0 and 1"
        )
    if arguments.assurance is not None and not 0.5 <= arguments.assurance < 1:
        raise UserError(
            f"assurance: found {arguments.assurance:g}, expected a share of studies from 0.5 to 1"
        )
    _check_power(arguments.power)


def _check_power(power: float) -> None:
    if not 0.5 <= power < 1:
        raise UserError(f"power: found {power:g}, expected a share of studies from 0.5 to 1")


def _models_needed(arguments: argparse.Namespace) -> Output:
    margin, n_tests = arguments.decoupled, int(arguments.tests or 1)
    if not 0 < margin < 1:
        raise UserError(f"decoupled: found {margin:g}, expected a margin between 0 and 1")
    _check_power(arguments.power)
    n = models_for_decoupled(margin, n_tests, arguments.power)
    number = "more models than there are" if n is None else f"{n:,} models, each of its own family"
    words = (
        f"a rank correlation over models that is truly 0 shown to be within ± {margin:g} with a "
        f"power of {100 * arguments.power:g}%, {described_level(n_tests)}\n  {number}"
    )
    return Output([words], {"models": n})


def _turns(assumed: Mapping[str, Assumption]) -> Turns:
    return Turns(*(assumed[name].value or 0.0 for name in ("rate", "alike", "related")))


def _items_for_rate(
    assumed: Mapping[str, Assumption],
    wished: float,
    samples: Sequence[int],
    assurance: float | None,
) -> Needed:
    turns = _turns(assumed)
    often = "on average" if assurance is None else f"in {assurance:.0%} of studies"
    head = f"a rate with a 95% interval of ± {100 * wished:g} points {often}"
    items = {k: items_for_half_width(turns, wished, k, assurance) for k in samples}
    lines = [f"  {_samples(k)}: {_items(n)}" for k, n in items.items()]
    return Needed("\n".join([head, *lines]), {"items_for_half_width_by_samples": items})


def _items(n: int | None) -> str:
    if n is None or n > MOST:
        return "more items than any study has"
    return "1 item" if n == 1 else f"{n:,} items"


def _samples(k: int) -> str:
    return "1 sample each" if k == 1 else f"{k} samples each"


def _labels_for_rate(assumed: Mapping[str, Assumption], wished: float) -> Needed:
    """Return how many labels a corrected rate needs, or the numbers missing to compute it."""
    head = f"the same rate corrected with people's labels, ± {100 * wished:g} points on average"
    names = ("sensitivity", "specificity", "turns")
    missing = [f"--{name}" for name in names if assumed[name].value is None]
    if missing:
        advice = f"give {', '.join(missing)}, or --pilot with a labelled round"
        return Needed(f"{head}\n  not known: {advice}", {"labels_missing": missing})
    sensitivity, specificity, n_turns = (assumed[name].value or 0.0 for name in names)
    judge = Judge(sensitivity, specificity)
    n = labels_for_half_width(_turns(assumed), judge, int(n_turns), wished)
    if n is None:
        few = f"{n_turns:,.0f} turns are too few"
        words = f"no number of labels does it: {few}; plan for more with --turns"
    else:
        words = f"{n:,} of {n_turns:,.0f} turns labelled, shared out by Neyman's allocation"
    return Needed(f"{head}\n  {words}", {"labels": n})


def _items_for_change(
    assumed: Mapping[str, Assumption], difference: float, samples: Sequence[int], power: float
) -> Needed:
    n_tests = int(assumed["tests"].value or 1)
    head = (
        f"a change of {100 * difference:+g} points detected with a power of {100 * power:g}%, "
        f"{described_level(n_tests)}"
    )
    turns = _turns(assumed)
    items = {k: items_for_difference(turns, difference, k, n_tests, power) for k in samples}
    lines = [f"  {_samples(k)} under either condition: {_items(n)}" for k, n in items.items()]
    return Needed("\n".join([head, *lines]), {"items_for_difference_by_samples": items})


def _follow_ups_needed(arguments: argparse.Namespace) -> Output:
    measure, change, unit = arguments.measure, arguments.difference, UNITS[arguments.measure]
    other = "spread" if unit == "share" else "rate"
    _refuse(arguments, OF_TURNS, "is of turns that a judge labels; leave it or --measure")
    _refuse(arguments, [other], f"changes nothing for '{measure}'; leave it out")
    if change is None:
        raise UserError("nothing to compute; expected --difference beside --measure")
    from_pilot = {} if arguments.pilot is None else pilot_follow_ups(arguments.pilot, measure)
    names = [name for name in MEANT_OF_FOLLOW_UPS if name != other]
    assumed = _assumptions(arguments, names, from_pilot)
    values = _numbers(assumed, change, arguments.power)
    n_tests = int(values.pop("tests"))
    needed = follow_ups_for_share if unit == "share" else follow_ups_for_gain
    n = needed(FollowUps(**values), change, n_tests, arguments.power)
    many = f"{n:,} follow-ups" if n <= MOST else "more follow-ups than any dataset has"
    words = (
        f"two models that differ by {change:+g} ({unit}) in {measure} told "
        f"apart with a power of {100 * arguments.power:g}%, {described_level(n_tests)}\n  {many}"
    )
    return _output(assumed, MEANT_OF_FOLLOW_UPS, [Needed(words, {"follow_ups": n})])


def _numbers(assumed: Mapping[str, Assumption], change: float, power: float) -> dict[str, float]:
    """Return the assumed numbers on follow-ups, checked to be given and in range."""
    for name, (value, source) in assumed.items():
        if value is None:
            raise UserError(f"{name}: {source}; give --{name}, or --pilot with a study")
    values = {name: assumption.value or 0.0 for name, assumption in assumed.items()}
    for name, value in values.items():
        low, high = RANGES[name]
        if not low <= value <= high:
            raise UserError(f"{name}: found {value:g}, expected a number from {low:g} to {high:g}")
    _check_power(power)
    rate = values.get("rate")
    if change == 0 or (rate is not None and not 0 <= rate + change <= 1):
        raise UserError(
            f"difference: found {change:g}, expected a change other than 0"
            f"{'' if rate is None else f' that leaves the rate, {rate:g}, between 0 and 1'}"
        )
    return values
