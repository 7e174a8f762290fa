"""A recipe that is trained several times has one row, with limits and a test of its trainings."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from tests.tables.test_item_pairs import WHERE
from userturn.stats.margins import change, side_by_side
from userturn.stats.proportions import Interval
from userturn.tables.contrasts import accuracy_contrasts, contrasts
from userturn.tables.equivalence import no_accuracy_loss
from userturn.tables.item_pairs import cells_of
from userturn.tables.repeated_trainings import (
    ONE_TRAINING,
    TEST,
    distance,
    p_of_none,
    widen_by_trainings,
)

PAIRS = [("sft", "base"), ("sft-seed2", "base"), ("sft-seed3", "base")]
RECIPE = {("sft", "base"): PAIRS}
NOBODY = pl.lit(False)  # of whom families are compared


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
    return table.filter(pl.col("scope").str.starts_with("model"), factor="model")


def test_one_row_over_the_trainings_takes_the_place_of_their_own() -> None:
    table = of_models(contrasts(turns(RATES), RECIPE, [], {}, NOBODY)[0])
    over = table.filter(scope="model")
    row = over.row(0, named=True)
    assert over.height == 1
    assert (row["condition"], row["model"], row["baseline"]) == ("sft", "sft", "base")
    # Rates .4, .5 and .6 against .2: the mean change is .3, over 30 turns and the base's 10.
    assert row["difference"] == pytest.approx(0.3)
    assert (row["n_scored"], row["n_scored_baseline"], row["n_items"]) == (30, 10, 10)
    assert (row["test"], row["correction"]) == (TEST, "Holm")
    # Their standard deviation is .1, so limits are at least 4.303 * .1 / root 3 = .248 away.
    assert row["difference"] - row["lower"] > 0.248
    singles = table.filter(scope=f"model{ONE_TRAINING}")
    assert sorted(singles["condition"]) == ["sft", "sft-seed2", "sft-seed3"]
    assert set(singles["correction"]) == {"Benjamini-Hochberg"}


def test_trainings_that_differ_more_are_less_certain() -> None:
    spread = RATES | {"sft": 0.3, "sft-seed3": 0.7}
    near, far = (
        of_models(contrasts(turns(rates), RECIPE, [], {}, NOBODY)[0]).filter(scope="model")
        for rates in (RATES, spread)
    )
    assert near["difference"][0] == pytest.approx(far["difference"][0])
    assert far["lower"][0] < near["lower"][0]
    assert far["p"][0] > near["p"][0]


def test_recipe_is_compared_over_the_datasets_that_it_has_not_seen() -> None:
    both = turns(RATES, ["chat", "sums"])
    table = of_models(contrasts(both, RECIPE, [], {"sft": {"sums"}}, NOBODY)[0])
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
    recipe = {("r", "s"): [("r", "s"), ("r-seed2", "s-seed2")]}
    found, _ = contrasts(turns(rates), recipe, [], {}, NOBODY)
    row = of_models(found).filter(scope="model").row(0, named=True)
    assert row["difference"] == pytest.approx(-0.1)
    assert (row["n_scored"], row["n_scored_baseline"]) == (20, 20)


def test_a_base_counts_once_also_where_the_first_training_lacks_the_cell() -> None:
    both = turns(RATES, ["chat", "sums"]).filter(
        (pl.col("model") != "sft") | (pl.col("dataset") != "sums")
    )
    table = of_models(contrasts(both, RECIPE, [], {}, NOBODY)[0])
    rows = table.filter(scope="model and dataset").select(
        "dataset", "n_scored", "n_scored_baseline"
    )
    assert sorted(rows.rows()) == [("chat", 30, 10), ("sums", 20, 10)]


def test_accuracy_of_a_recipe_is_over_its_trainings_and_kept_or_not_by_them() -> None:
    grades = turns(RATES).select("model", "dataset", "item", correct=pl.col("n_genuine") == 1)
    families = pl.DataFrame({"model": list(RATES), "family": ["f"] * 4})
    table = accuracy_contrasts(grades, families, RECIPE)
    row = table.filter(scope="model").row(0, named=True)
    assert row["difference"] == pytest.approx(0.3)
    graded = turns(RATES).with_columns(judge=pl.lit("verifier"))
    (claim,) = no_accuracy_loss(cells_of(graded), RECIPE, 0.02)
    assert (claim["model"], claim["n"]) == ("sft", 10)
    # Limits at 90% are 2.920 * .1 / root 3 = .169 away by the trainings alone.
    assert claim["estimate"] - claim["lower"] > 0.168


def test_limits_are_those_over_items_where_trainings_agree() -> None:
    within = Interval(0.1, 0.04, 0.2)
    assert widen_by_trainings(within, [0.1, 0.1, 0.1]) == pytest.approx(within)


def test_squares_of_both_distances_add_up() -> None:
    # 0, .1 and .2 have the standard deviation .1; t is 4.3027 at 2 degrees of freedom, so the
    # trainings' limit is .2484 away, and the root of .2484² + .06² is .2556.
    assert distance([0.0, 0.1, 0.2]) == pytest.approx(4.3027 * 0.1 / 3**0.5, abs=1e-4)
    found = widen_by_trainings(Interval(0.1, 0.04, 0.2), [0.0, 0.1, 0.2])
    assert found.lower == pytest.approx(0.1 - 0.2556, abs=1e-4)


def test_one_training_says_nothing_of_others() -> None:
    assert distance([0.3]) == np.inf


def test_p_is_students_where_items_are_certain() -> None:
    # Changes .1, .2 and .3: t = .2 / (.1 / root 3) = 3.464 at 2 degrees of freedom, p = .0742.
    def limits(confidence: float) -> Interval:
        return widen_by_trainings(Interval(0.2, 0.2, 0.2), [0.1, 0.2, 0.3], confidence)

    assert p_of_none(limits) == pytest.approx(2 * t.sf(12**0.5, 2), rel=1e-6)


def test_p_is_below_a_level_where_limits_of_its_confidence_leave_0_out() -> None:
    def limits(confidence: float) -> Interval:
        rates = change(side_by_side((1.0, [0] * 60), (3.0, [1, 2, 0] * 20)), confidence)
        return widen_by_trainings(rates, [0.3, 0.35, 0.35], confidence)

    p = p_of_none(limits)
    assert 0 < (limits(1 - 0.99 * p).lower or 0) * -1 < 1e-2
    assert (limits(1 - 1.01 * p).lower or 0) > 0


@pytest.mark.parametrize("apart", [0.0, 0.05, 0.15])
def test_seeds_alone_are_no_effect_in_at_least_95_of_100_recipes(apart: float) -> None:
    # Three trainings move the rate of 300 items from one half by normal draws with mean 0. Limits
    # over items alone, as for one training, leave 0 out in 2 of 5 recipes and more.
    rng = np.random.default_rng(54)
    rejected = of_items = 0
    for _ in range(200):
        before = rng.random(300) < 0.5
        rates = np.clip(0.5 + apart * rng.standard_normal((3, 1)), 0, 1)
        after = rng.random((3, 300)) < rates
        pooled = change(side_by_side((1.0, before), (3.0, after.sum(axis=0))))
        found = widen_by_trainings(pooled, after.mean(axis=1) - before.mean())
        of_items += not holds_0(pooled)
        rejected += not holds_0(found)
    assert rejected <= 16  # of 200 at 5%: so many or fewer in 98 of 100 draws
    assert of_items > 60 or apart < 0.15


def holds_0(interval: Interval) -> bool:
    return (interval.lower or 0) <= 0 <= (interval.upper or 0)
