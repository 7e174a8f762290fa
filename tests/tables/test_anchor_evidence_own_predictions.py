"""A study's own predictions hold, fail or are undecided by the rows that they name."""

from typing import Any

import polars as pl
import pytest

from userturn.config.check import check_predictions
from userturn.errors import ConfigError
from userturn.tables.anchors import prediction_rows

AT = {"family": "a", "model": "a-1b", "dataset": "all", "judge": "j", "perturbation": "none"}
NOTHING = dict.fromkeys(("corrected", "corrected_lower", "corrected_upper"), None)


def rate(low: float, high: float, **other: Any) -> dict[str, Any]:
    row = AT | {"scope": "model", "temperature": 0.0, "label": "genuine_followup"}
    limits = {"estimate": (low + high) / 2, "lower": low, "upper": high, "n_items": 100}
    return row | {"average": "micro"} | NOTHING | limits | other


def change(low: float, high: float, **other: Any) -> dict[str, Any]:
    row = AT | {"scope": "model", "temperature": 1.0, "factor": "temperature"}
    ends = {"condition": "1.0", "baseline": "0.0"}
    limits = {"difference": (low + high) / 2, "lower": low, "upper": high, "n_items": 100}
    return row | ends | NOTHING | limits | other


TABLES = {
    "rates": pl.DataFrame(
        [
            rate(0.10, 0.20),
            rate(0.30, 0.40, temperature=1.0),
            rate(0.0, 0.5, scope="cell", dataset="d", corrected=0.02, corrected_lower=0.01)
            | {"corrected_upper": 0.04},
        ],
        infer_schema_length=None,
    ),
    "contrasts": pl.DataFrame([change(0.1, 0.3)]),
    "accuracy": pl.DataFrame(
        [{"model": "a-1b", "dataset": "d", "estimate": 0.6, "lower": 0.5, "upper": 0.7}]
    ).with_columns(n_items=100),
}


def outcome(one: dict[str, Any], not_shown: str | None = None) -> tuple[Any, ...]:
    (row,) = prediction_rows({"p": one}, TABLES, "j", not_shown).to_dicts()
    return row["outcome"], row["n_more"], row["this_study"]


@pytest.mark.parametrize(
    ("one", "found"),
    [
        ({"above": 0.05, "below": 0.25}, ("holds", None, "15.0% [10.0%, 20.0%]")),
        ({"below": 0.05}, ("fails", None, "15.0% [10.0%, 20.0%]")),
        # Half the width is 5 points, the edge 2.5 off: four times the items.
        ({"below": 0.175}, ("undecided", 300, "15.0% [10.0%, 20.0%]")),
        ({"below": 0.25, "temperature": 1.0}, ("fails", None, "35.0% [30.0%, 40.0%]")),
        ({"below": 0.05, "dataset": "d"}, ("holds", None, "2.0% [1.0%, 4.0%]")),
        ({"of": "accuracy", "dataset": "d", "above": 0.4}, ("holds", None, "60.0% [50.0%, 70.0%]")),
    ],
)
def test_a_rate_is_held_against_its_edges(one: dict[str, Any], found: tuple[Any, ...]) -> None:
    assert outcome({"model": "a-1b", **one}) == found


def test_a_change_is_that_since_its_baseline() -> None:
    one = {"model": "a-1b", "temperature": 1.0, "against": {"temperature": 0}, "above": 0.05}
    assert outcome(one) == ("holds", None, "+20.0 [+10.0, +30.0] points")


def test_by_a_judge_that_is_not_shown_only_corrected_rates_and_accuracy_count() -> None:
    assert outcome({"model": "a-1b", "above": 0.05}, "not validated")[0] == "not comparable"
    corrected = {"model": "a-1b", "dataset": "d", "below": 0.05}
    assert outcome(corrected, "not validated")[0] == "holds"
    right = {"of": "accuracy", "model": "a-1b", "dataset": "d", "above": 0.4}
    assert outcome(right, "not validated")[0] == "holds"


def test_what_the_study_lacks_is_not_comparable() -> None:
    found = outcome({"model": "a-1b", "dataset": "other", "below": 0.5})
    assert found == ("not comparable", None, "–")


@pytest.mark.parametrize(
    ("one", "message"),
    [
        ({"model": "a", "family": "b", "below": 0.1}, "expected either `model` or `family`"),
        ({"model": "a"}, "expected `above`, `below` or both"),
        ({"model": "a", "above": 0.2, "below": 0.1}, "expected `above` to be less than `below`"),
        ({"model": "A", "below": 0.1}, "'A' is no model, did you mean 'a'?"),
        ({"model": "a", "dataset": "f", "below": 0.1}, "'f' is no dataset"),
        (
            {"model": "a", "against": {"perturbation": "cut"}, "below": 0.1},
            "'cut' is no perturbation",
        ),
    ],
)
def test_a_wrong_prediction_is_one_sentence(one: dict[str, Any], message: str) -> None:
    config = {"models": {"a": {}}, "datasets": {"d": {}}, "perturbations": {"truncate": {}}}
    with pytest.raises(ConfigError, match=r"^predictions\.p: ") as error:
        check_predictions(config | {"predictions": {"p": one}})
    assert message in str(error.value)
