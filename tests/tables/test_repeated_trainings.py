"""A recipe that is trained several times has one row, with limits and a test of its trainings."""

from collections.abc import Sequence

import polars as pl
import pytest

from tests.tables.test_item_pairs import WHERE
from userturn.tables.contrasts import accuracy_contrasts, contrasts
from userturn.tables.equivalence import accuracy_kept
from userturn.tables.repeated_trainings import ONE_TRAINING, TEST

PAIRS = [("sft", "base"), ("sft-seed2", "base"), ("sft-seed3", "base")]
RECIPE = {("sft", "base"): PAIRS}


def turns(rates: dict[str, float], datasets: Sequence[str] = ("chat",)) -> pl.DataFrame:
    """Ten items a dataset, of which the first ones, as many as the rate says, are genuine."""
    return pl.DataFrame(
        [
            WHERE
            | {"model": model, "dataset": dataset, "temperature": 0.0, "item": f"i{i}"}
            | {"n_turns": 1, "n_scored": 1, "n_genuine": int(i < 10 * rate), "first": i < 10 * rate}
            for dataset in datasets
            for model, rate in rates.items()
            for i in range(10)
        ]
    )


RATES = {"base": 0.2, "sft": 0.4, "sft-seed2": 0.5, "sft-seed3": 0.6}


def of_models(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("factor") == "model", pl.col("scope").str.starts_with("model"))


def test_one_row_over_the_trainings_takes_the_place_of_their_own() -> None:
    table = of_models(contrasts(turns(RATES), RECIPE, []))
    over = table.filter(pl.col("scope") == "model")
    row = over.row(0, named=True)
    assert over.height == 1
    assert (row["condition"], row["model"], row["baseline"]) == ("sft", "sft", "base")
    # Rates .4, .5 and .6 against .2: the mean change is .3, over 30 turns and the base's 10.
    assert row["difference"] == pytest.approx(0.3)
    assert (row["n_scored"], row["n_scored_baseline"], row["n_items"]) == (30, 10, 10)
    assert (row["test"], row["correction"]) == (TEST, "Holm")
    # Their standard deviation is .1, so limits are at least 4.303 * .1 / root 3 = .248 away.
    assert row["difference"] - row["lower"] > 0.248
    singles = table.filter(pl.col("scope") == f"model{ONE_TRAINING}")
    assert sorted(singles["condition"]) == ["sft", "sft-seed2", "sft-seed3"]
    assert set(singles["correction"]) == {"Benjamini-Hochberg"}


def test_trainings_that_differ_more_are_less_certain() -> None:
    spread = RATES | {"sft": 0.3, "sft-seed3": 0.7}
    near, far = (
        of_models(contrasts(turns(rates), RECIPE, [])).filter(pl.col("scope") == "model")
        for rates in (RATES, spread)
    )
    assert near["difference"][0] == pytest.approx(far["difference"][0])
    assert far["lower"][0] < near["lower"][0]
    assert far["p"][0] > near["p"][0]


def test_recipe_is_compared_over_the_datasets_that_it_has_not_seen() -> None:
    both = turns(RATES, ["chat", "sums"])
    table = of_models(contrasts(both, RECIPE, [], {"sft": {"sums"}}))
    over = table.filter(~pl.col("scope").str.ends_with(ONE_TRAINING))
    assert sorted(over.select("scope", "dataset", "n_items").rows()) == [
        ("model", "all held out", 10),
        ("model and dataset", "chat", 10),
        ("model and dataset", "sums", 10),
        ("model, with seen datasets", "all", 20),
    ]


def test_second_stage_is_compared_with_the_first_of_its_own_number() -> None:
    # Each loses .1 of what its own base had, so the change is -.1 and no seed moves it.
    rates = {"s": 0.3, "s-seed2": 0.7, "r": 0.2, "r-seed2": 0.6}
    found = contrasts(turns(rates), {("r", "s"): [("r", "s"), ("r-seed2", "s-seed2")]}, [])
    row = of_models(found).filter(pl.col("scope") == "model").row(0, named=True)
    assert row["difference"] == pytest.approx(-0.1)
    assert (row["n_scored"], row["n_scored_baseline"]) == (20, 20)


def test_accuracy_of_a_recipe_is_over_its_trainings_and_kept_or_not_by_them() -> None:
    grades = turns(RATES).select("model", "dataset", "item", correct=pl.col("n_genuine") == 1)
    families = pl.DataFrame({"model": list(RATES), "family": ["f"] * 4})
    table = accuracy_contrasts(grades, families, RECIPE)
    row = table.filter(pl.col("scope") == "model").row(0, named=True)
    assert row["difference"] == pytest.approx(0.3)
    graded = turns(RATES).with_columns(judge=pl.lit("verifier"))
    (claim,) = accuracy_kept(graded, RECIPE, 0.02)
    assert (claim["model"], claim["n"]) == ("sft", 10)
    # Limits at 90% are 2.920 * .1 / root 3 = .169 away by the trainings alone.
    assert claim["estimate"] - claim["lower"] > 0.168
