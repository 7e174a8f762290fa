"""`userturn power --measure`: how many reference follow-ups tell two models apart.

And what any calculation of power assumes.
"""

import argparse
from collections.abc import Iterable, Mapping

from userturn.errors import UserError
from userturn.stats.sample_size import (
    MOST,
    FollowUps,
    follow_ups_for_gain,
    follow_ups_for_share,
    level_of,
)
from userturn.tables.likelihood_measures import UNITS
from userturn.tables.pilot import Assumption, pilot_follow_ups


def chosen(
    given: Mapping[str, float | None],
    found: Mapping[str, Assumption],
    defaults: Mapping[str, tuple[float, str]],
) -> dict[str, Assumption]:
    """Return each assumption: the option, else the pilot's, else the default with its reason."""
    assumed = {}
    for name, value in given.items():
        known = found.get(name, Assumption(None, "not given"))
        if value is not None:
            known = Assumption(value, "given")
        elif known.value is None and name in defaults:
            default, why = defaults[name]
            known = Assumption(default, f"{known.source}: {why}")
        assumed[name] = known
    return assumed


def listed(assumed: Mapping[str, Assumption], meant: Mapping[str, str]) -> str:
    """Return assumptions as text, one line each; `meant` says what each name means."""
    lines = [
        f"  {meant[name]:<52} {'?' if value is None else f'{value:.4g}':>8}  {source}"
        for name, (value, source) in assumed.items()
    ]
    return "\n".join(["assumed", *lines])


MEANT = {
    "rate": "share of follow-ups that the baseline identifies",
    "spread": "standard deviation of gains, nats a character",
    "related": "correlation of two models' values of a follow-up",
    "design_effect": "what shared conversations multiply the variance by",
    "per_conversation": "follow-ups of a conversation, at least the line above",
    "tests": "tests in the largest set that Holm adjusts",
}
DEFAULTS = {
    "related": (0.0, "the most cautious value"),
    "design_effect": (1.0, "every follow-up of its own conversation"),
    "per_conversation": (1.0, "no more than their effect"),
    "tests": (1.0, "one test alone"),
}
OF_TURNS = (
    "half_width",
    "judge",
    "alike",
    "sensitivity",
    "specificity",
    "turns",
    "samples",
    "assurance",
    "decoupled",
)
OF_FOLLOW_UPS = ("spread", "design_effect", "per_conversation")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments that are of follow-ups alone."""
    command.add_argument(
        "--measure", choices=list(UNITS), help="of reference follow-ups, by likelihood"
    )
    for name in OF_FOLLOW_UPS:
        command.add_argument(_option(name), type=float, metavar="NUMBER", help=MEANT[name])


def run(arguments: argparse.Namespace) -> str:
    """Return the text for one measure of reference follow-ups."""
    unit = UNITS[arguments.measure]
    other = "spread" if unit == "share" else "rate"
    refuse(arguments, OF_TURNS, "is of turns that a judge labels; leave it or --measure")
    refuse(arguments, [other], f"changes nothing for '{arguments.measure}'; leave it out")
    if arguments.difference is None:
        raise UserError("nothing to compute; expected --difference beside --measure")
    names = [name for name in MEANT if name != other]
    assumed = _assumptions(arguments, names)
    _check(assumed, arguments)
    values = {name: found.value or 0.0 for name, found in assumed.items()}
    n_tests = int(values.pop("tests"))
    needed = follow_ups_for_share if unit == "share" else follow_ups_for_gain
    n = needed(FollowUps(**values), arguments.difference, n_tests, arguments.power)
    many = f"{n:,} follow-ups" if n <= MOST else "more follow-ups than any dataset has"
    text = (
        f"two models that differ by {arguments.difference:+g} ({unit}) in {arguments.measure} told "
        f"apart with a power of {100 * arguments.power:g}%, at {level_of(n_tests):.2g}: Holm's "
        f"first step of {n_tests} tests\n  {many}"
    )
    return f"{listed(assumed, MEANT)}\n\n{text}"


def refuse(arguments: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Raise UserError if an option is given that changes nothing."""
    for name in names:
        if getattr(arguments, name) is not None:
            raise UserError(f"{_option(name)} {why}")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _assumptions(arguments: argparse.Namespace, names: list[str]) -> dict[str, Assumption]:
    """Return each assumption: the option, else the pilot's, else the default."""
    pilot = arguments.pilot
    found = {} if pilot is None else pilot_follow_ups(pilot, arguments.measure)
    return chosen({name: getattr(arguments, name) for name in names}, found, DEFAULTS)


def _check(assumed: Mapping[str, Assumption], arguments: argparse.Namespace) -> None:
    """Check the numbers.

    Raises:
        UserError: one is missing, or is not what its name says.
    """
    for name, (value, source) in assumed.items():
        if value is None:
            raise UserError(f"{name}: {source}; give --{name}, or --pilot with a study")
    ranges = {
        "rate": (0.0, 1.0),
        "spread": (1e-9, 1e9),
        "related": (0.0, 1.0),
        "design_effect": (1.0, 1e9),
        "per_conversation": (1.0, 1e9),
        "tests": (1.0, 1e9),
    }
    for name, (value, _) in assumed.items():
        low, high = ranges[name]
        if value is not None and not low <= value <= high:
            raise UserError(f"{name}: found {value:g}, expected a number from {low:g} to {high:g}")
    if not 0.5 <= arguments.power < 1:
        raise UserError(f"power: found {arguments.power:g}, expected a share from 0.5 to 1")
    rate, change = (assumed["rate"].value if "rate" in assumed else None), arguments.difference
    if change == 0 or (rate is not None and not 0 <= rate + change <= 1):
        raise UserError(
            f"difference: {change:g} is no change, or leads to no share; expected one that is not "
            f"0{'' if rate is None else ' and leaves the rate between 0 and 1'}"
        )
