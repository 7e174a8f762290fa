"""Table `contingency`: all turns of a cell, and those of each verdict apart."""

import polars as pl

from userturn.likelihood.gains import TURN
from userturn.tables.contingency import contingency


def test_gain_and_identification_of_all_turns_and_by_verdict() -> None:
    shared = dict.fromkeys(TURN) | {"model": "m", "dataset": "d", "temperature": 0.0}
    shared |= {"perturbation": "none", "sample": 0, "n_tokens": 2, "n_answers": 1}
    rows = [
        {"item": "a", "conversation": "a", "gain_answer": 4.0, "identified_answer": True},
        {"item": "b", "conversation": "b", "gain_answer": -2.0, "identified_answer": False},
        {"item": "c", "conversation": "c", "gain_answer": 0.0, "identified_answer": False},
    ]
    gains = pl.DataFrame([shared | row for row in rows])
    verdicts = pl.DataFrame(
        {"item": ["a", "b", "c"], "judge": ["j"] * 3, "genuine": [True, False, None]}
    )
    found = contingency(gains, gains.join(verdicts, on="item"))
    # In nats a token: all (2 - 1 + 0) / 3; the genuine turn 2, the other one -1.
    columns = ("judge", "turns", "n_turns", "chance", "identified", "gain")
    assert found.select(columns).rows() == [
        ("all", "all", 3, 0.5, 1 / 3, 1 / 3),
        ("j", "genuine", 1, 0.5, 1.0, 2.0),
        ("j", "not_genuine", 1, 0.5, 0.0, -1.0),
    ]
