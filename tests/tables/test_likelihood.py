"""Models' own turns: their gain by verdict, and whether it tells the genuine ones."""

import polars as pl

from userturn.generation.scores import TURN
from userturn.humans.labels import NO_LABELS, PEOPLE
from userturn.tables.likelihood import NOT_BOTH, areas, contingency

KEYS = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none", "sample": 0}
GAINS = [4.0, 1.0, 2.0, None]


def gains() -> pl.DataFrame:
    """Four turns of two characters each, the last without a gain."""
    shared = dict.fromkeys(TURN) | KEYS | {"n_characters": 2}
    rows = [
        shared | {"item": str(i), "conversation": str(i), "gain_answer": gain}
        for i, gain in enumerate(GAINS)
    ]
    return pl.DataFrame(rows)


def labels(rater: str, genuine: list[bool | None]) -> pl.DataFrame:
    rows = [KEYS | {"item": str(i), "rater": rater, "genuine": g} for i, g in enumerate(genuine)]
    return pl.DataFrame(rows)


def test_area_is_of_the_turns_that_have_a_gain_and_a_label() -> None:
    # Genuine: gains 4 and 1, not genuine: 2; 4 is above 2 and 1 is not.
    row = areas(gains(), labels("judge", [True, True, False, False])).row(0, named=True)
    found = [row[name] for name in ("rater", "n_genuine", "n_not_genuine", "estimate")]
    assert found == ["judge", 2, 1, 0.5]


def test_raters_stand_apart_and_people_without_labels_say_so() -> None:
    both = pl.concat(
        [labels("a", [True, False, None, True]), labels("b", [False, False, False, True])]
    )
    found = areas(gains(), both).select("rater", "n_not_genuine", "estimate", "reason").rows()
    assert found == [("a", 1, 1.0, None), ("b", 3, None, NOT_BOTH), (PEOPLE, None, None, NO_LABELS)]


def test_people_are_a_rater_as_judges_are() -> None:
    found = areas(gains(), labels(PEOPLE, [True, False, False, None]))
    assert found.select("rater", "estimate").rows() == [(PEOPLE, 1.0)]


def test_gain_and_identification_of_all_turns_and_by_verdict() -> None:
    shared = dict.fromkeys(TURN) | {"model": "m", "dataset": "d", "temperature": 0.0}
    shared |= {"perturbation": "none", "sample": 0, "n_characters": 2, "n_answers": 1}
    rows = [
        {"item": "a", "conversation": "a", "gain_answer": 4.0, "identified_answer": True},
        {"item": "b", "conversation": "b", "gain_answer": -2.0, "identified_answer": False},
        {"item": "c", "conversation": "c", "gain_answer": 0.0, "identified_answer": False},
    ]
    gains = pl.DataFrame([shared | row for row in rows])
    verdicts = pl.DataFrame(
        {"item": ["a", "b", "c"], "rater": ["j"] * 3, "genuine": [True, False, None]}
    )
    found = contingency(gains, gains.join(verdicts, on="item"))
    # In nats a character: all (2 - 1 + 0) / 3; the genuine turn 2, the other one -1.
    columns = ("rater", "turns", "measure", "n_turns", "chance", "estimate")
    assert found.select(columns).rows() == [
        ("all", "all", "gain_answer", 3, None, 1 / 3),
        ("all", "all", "identified_answer", 3, 0.5, 1 / 3),
        ("j", "genuine", "gain_answer", 1, None, 2.0),
        ("j", "genuine", "identified_answer", 1, 0.5, 1.0),
        ("j", "not_genuine", "gain_answer", 1, None, -1.0),
        ("j", "not_genuine", "identified_answer", 1, 0.5, 0.0),
    ]
