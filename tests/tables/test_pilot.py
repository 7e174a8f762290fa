"""What a pilot's scores say of the reference follow-ups that a larger study needs."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from tests.support.made_up_scores import scored
from userturn.errors import UserError
from userturn.generation.scorer import OTHER_ANSWER, OWN
from userturn.generation.scores import SCORES_SCHEMA
from userturn.tables.pilot import pilot_follow_ups

GAINS = [0.0, 0.9, 1.8, 2.7, 3.6, 4.5, 5.4, 6.3, 7.2, 8.1]  # nats; turns have 9 characters


def pilot(folder: Path, twice: bool = False, **gains: Sequence[float]) -> Path:
    """Write each model's scores with such gains; `twice`: two follow-ups a conversation."""
    for model, values in gains.items():
        rows = []
        for n, gain in enumerate(values):
            named = {"model": model, "dataset": "d"}
            named |= {"conversation": f"c{n // 2}"} if twice else {}
            for context, logprob in ((OWN, gain - 10), (OTHER_ANSWER, -10.0)):
                rows.append(scored(f"i{n}", context, [logprob]) | named)
        path = folder / "likelihood" / model / "d" / "human_turns.parquet"
        path.parent.mkdir(parents=True)
        pl.DataFrame(rows, schema=SCORES_SCHEMA).write_parquet(path)
    return folder


def test_spread_and_correlation_are_those_of_the_two_models(tmp_path: Path) -> None:
    # Gains a character are 0 to .9 in steps of .1: their variance is 8.25 / 9 / 10 = .091667. Each
    # second one is swapped with its neighbour in the other model: the squared differences sum to
    # 10 * .01, so the correlation is 1 - .1 / (2 * .825) = .9394.
    swapped = [GAINS[n ^ 1] for n in range(10)]
    found = pilot_follow_ups(pilot(tmp_path, a=GAINS, b=swapped), "gain_answer")
    assert found["spread"].value == pytest.approx(0.091667**0.5, rel=1e-4)
    assert found["related"].value == pytest.approx(0.9394, abs=1e-4)
    assert found["design_effect"].value == pytest.approx(1)
    assert found["spread"].source == "a and b on 10 follow-ups of d"


def test_one_model_has_no_correlation(tmp_path: Path) -> None:
    found = pilot_follow_ups(pilot(tmp_path, a=GAINS), "identified_answer")
    assert found["related"] == (None, "the pilot has one model")
    assert found["rate"].value == pytest.approx(0.9)  # the gain of 0 is a tie


def test_equal_follow_ups_of_a_conversation_raise_the_variance(tmp_path: Path) -> None:
    # Pairs are equal: sums of deviations are twice each value, so the clustered variance of the
    # mean is 5 / 4 * 4 S / 100 with S the five squares, and the plain one 2 S / 9 / 10: 2.25 times.
    pairs = [GAINS[n // 2] for n in range(10)]
    found = pilot_follow_ups(pilot(tmp_path, twice=True, a=pairs), "gain_answer")
    assert found["design_effect"].value == pytest.approx(2.25)


def test_a_study_without_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="found no 10 reference follow-ups"):
        pilot_follow_ups(tmp_path, "gain_answer")
