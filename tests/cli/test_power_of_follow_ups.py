"""`userturn power --measure`: how many reference follow-ups tell two models apart."""

import pytest
from statsmodels.stats.power import TTestPower

from userturn.cli.main import main

GAIN = ("--measure", "gain_answer", "--spread", "0.2")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["power", *arguments]) == 0
    return capsys.readouterr().out


def test_a_gain_needs_students_conversations_and_a_few(capsys: pytest.CaptureFixture[str]) -> None:
    # A difference of two gains varies by 2 * .04 * .5 = .04, and conversations are of 1.5; what a
    # sample's own skewness costs is two of them at most.
    students = TTestPower().solve_power(0.05 / 0.2, power=0.8, alpha=0.05) * 1.5
    options = ("--related", "0.5", "--design-effect", "1.5", "--difference", "0.05")
    last = said(capsys, *GAIN, *options).splitlines()[-1]
    assert students <= int(last.split()[0]) <= students + 3


def test_a_share_needs_what_items_of_one_turn_need(capsys: pytest.CaptureFixture[str]) -> None:
    items = said(capsys, "--rate", "0.85", "--related", "0", "--difference", "0.05")
    text = said(capsys, "--measure", "identified_answer", "--rate", "0.85", "--difference", "0.05")
    assert "689 items" in items and "691 follow-ups" in text


def test_a_sign_of_the_difference_changes_nothing_for_a_gain(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, other = (said(capsys, *GAIN, f"--difference={d}") for d in ("0.05", "-0.05"))
    assert one.splitlines()[-1] == other.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*GAIN,), "expected --difference beside --measure"),
        (("--measure", "gain_role", "--difference", "0.1"), "give --spread"),
        ((*GAIN, "--difference", "0"), "0 is no change"),
        ((*GAIN, "--difference", "0.1", "--alike", "0.1"), "--alike is of turns that a judge"),
        ((*GAIN, "--difference", "0.1", "--samples", "3"), "--samples is of turns that a judge"),
        (
            (*GAIN, "--difference", "0.1", "--rate", "0.5"),
            "--rate changes nothing for 'gain_answer'",
        ),
        (("--difference", "0.1", "--rate", "0.5", "--spread", "1"), "--spread is of reference"),
        ((*GAIN, "--difference", "0.1", "--related", "1.5"), "related: found 1.5"),
        ((*GAIN, "--difference", "0.1", "--design-effect", "0.5"), "design_effect: found 0.5"),
    ],
)
def test_numbers_that_are_missing_or_impossible_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main(["power", *arguments]) == 1
    assert message in capsys.readouterr().err
