"""Signals of fixed user turns after an answer, by hand."""

from math import exp, log
from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.errors import UserError
from userturn.generation.scores import reaction_signals
from userturn.sources.candidates import read_reactions
from userturn.study.contents import REACTIONS


def scores(sample: int, **logprobs: float | None) -> list[dict[str, object]]:
    """Return the scores of one answer by context, `_` for a blank; a turn has two tokens."""
    place = {"model": "m", "dataset": "d", "item": "i", "sample": sample, "n_tokens": 2}
    return [
        place | {"context": name.replace("_", " "), "logprob": value}
        for name, value in logprobs.items()
    ]


def signals(rows: list[dict[str, object]]) -> list[dict[str, float | None]]:
    schema = {"logprob": pl.Float64}
    return (
        reaction_signals(pl.DataFrame(rows, schema_overrides=schema))
        .drop("model", "dataset", "item", "sample", "contingency")
        .to_dicts()
    )


def test_log_odds_are_those_of_saying_any_turn_of_either_kind() -> None:
    """Satisfied turns have e⁻¹ + e⁻², the correction e⁻³; the answer has -5 nats in two tokens."""
    rows = scores(0, satisfaction_1=-1, satisfaction_2=-2, correction_1=-3, prompt=-5)
    (found,) = signals(rows)
    satisfied = log(exp(-1) + exp(-2))
    assert found == pytest.approx(
        {
            "satisfaction": satisfied,
            "correction": 3.0,
            "mean log-probability": -2.5,
            "satisfaction over correction": satisfied + 3,
        }
    )


def test_contingency_is_the_gain_a_token_over_the_mean_after_other_answers() -> None:
    """The turn of two tokens has -2 nats after its answer, -3 and -5 after two others."""
    rows = [*scores(0, own=-2), *scores(0, other_answer=-3.0), *scores(0, other_answer=-5.0)]
    rows = [row | {"context": str(row["context"]).replace(" ", "_")} for row in rows]
    found = reaction_signals(pl.DataFrame([*rows, *scores(1, satisfaction_1=-1)]))
    assert found["contingency"].to_list() == [(-2 + 4) / 2, None]


def test_the_order_of_scores_changes_no_byte() -> None:
    rows = [
        row
        for sample in (0, 1)
        for row in scores(sample, satisfaction_1=-1.1, satisfaction_2=-0.7, correction_1=-3.3)
    ]
    assert signals(rows) == signals(rows[::-1])


def test_a_signal_without_one_of_its_scores_is_null() -> None:
    rows = scores(0, satisfaction_1=-1, satisfaction_2=None, correction_1=-3, prompt=None)
    (found,) = signals(rows)
    assert found["satisfaction"] is None and found["satisfaction over correction"] is None
    assert found["correction"] == 3.0 and found["mean log-probability"] is None


def test_very_unlikely_turns_keep_their_odds() -> None:
    (found,) = signals(scores(0, satisfaction_1=-2000, correction_1=-2001))
    assert found["satisfaction over correction"] == pytest.approx(1.0)


def test_the_projects_reactions_are_named_by_kind_and_number() -> None:
    found = read_reactions(str(ROOT / REACTIONS))
    assert list(found)[:2] == ["satisfaction 1", "satisfaction 2"]
    assert {name.split()[0] for name in found} == {"satisfaction", "correction"}


@pytest.mark.parametrize(
    "text", ["satisfaction: [Thanks.]", "[]", "{satisfaction: [], correction: [No.]}"]
)
def test_a_file_without_both_kinds_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "reactions.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match="expected"):
        read_reactions(str(path))
