"""Own turns: all of a cell, and those of each verdict apart."""

import polars as pl

from userturn.generation.scores import TURN
from userturn.tables.likelihood import contingency


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
