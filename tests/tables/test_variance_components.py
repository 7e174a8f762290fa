"""Variance components of a study: what each design can tell apart, and that it says the rest."""

from itertools import product

import numpy as np
import polars as pl
import pytest

from userturn.tables.layout import printed
from userturn.tables.variance_components import LAYOUT, components_table

TURNS = {"dataset": "d", "perturbation": "none"}


def verdicts(
    n_models: int, n_samples: int, judges: tuple[str, ...] = ("j",), n_items: int = 40
) -> pl.DataFrame:
    """Return verdicts of a study: models and items differ, each judge errs in a fifth of turns."""
    rng = np.random.default_rng(0)
    of_model, of_item = rng.uniform(0.2, 0.6, n_models), rng.uniform(-0.2, 0.2, n_items)
    rows = []
    for m, i, k in product(range(n_models), range(n_items), range(n_samples)):
        turn = bool(rng.random() < of_model[m] + of_item[i])
        rows += [
            TURNS
            | {"model": f"m{m}", "item": f"i{i}", "sample": k, "temperature": 1.0, "judge": judge}
            | {"genuine": turn != bool(rng.random() < 0.2)}
            for judge in judges
        ]
    return pl.DataFrame(rows)


def table(found: pl.DataFrame) -> pl.DataFrame:
    items = found.group_by(
        "model", "dataset", "temperature", "perturbation", "judge", "item", maintain_order=True
    ).agg(n_turns=pl.len(), n_scored=pl.len(), n_genuine=pl.sum("genuine"))
    return components_table(items, found.filter(found["judge"].n_unique() > 1))


def rows(table: pl.DataFrame, judge: str = "j") -> dict[str, tuple[bool, str | None, str | None]]:
    """Return whether each component was estimated, what it includes, and its reason."""
    kept = table.filter(pl.col("dataset") == "all", pl.col("judge") == judge)
    return {
        row["component"]: (row["variance"] is not None, row["includes"], row["reason"])
        for row in kept.to_dicts()
    }


@pytest.mark.parametrize(
    ("n_models", "n_samples", "expected"),
    [
        (3, 2, [(True, None, None)] * 4),
        (
            3,
            1,
            [
                (True, None, None),
                (True, None, None),
                (False, None, "one sample an item: part of 'samples'"),
                (True, "items by models", None),
            ],
        ),
        (
            1,
            2,
            [
                (False, None, "one model"),
                (True, "items by models", None),
                (False, None, "one model: part of 'items'"),
                (True, None, None),
            ],
        ),
        (
            1,
            1,
            [
                (False, None, "one model"),
                (False, None, "one sample an item: part of 'samples'"),
                (False, None, "one sample an item: part of 'samples'"),
                (True, "items, items by models", None),
            ],
        ),
    ],
)
def test_each_design_says_what_it_tells_apart(
    n_models: int, n_samples: int, expected: list[tuple[bool, str | None, str | None]]
) -> None:
    found = rows(table(verdicts(n_models, n_samples)))
    assert list(found) == ["models", "items", "items by models", "samples"]
    assert list(found.values()) == expected


def test_components_add_up_to_the_variance_of_a_verdict() -> None:
    found = verdicts(3, 2)
    components = table(found).filter(pl.col("dataset") == "d", pl.col("judge") == "j")
    share = found["genuine"].mean()
    assert isinstance(share, float)
    assert components["variance"].sum() == pytest.approx(share * (1 - share), abs=0.02)
    assert components["share"].sum() == pytest.approx(1)


def test_judges_that_err_apart_differ_from_turn_to_turn_and_little_on_the_whole() -> None:
    # Each is wrong in .2: two verdicts on a turn differ in 2 x .2 x .8, half of it a variance.
    kept = table(verdicts(3, 4, ("a", "b"), 100)).filter(
        pl.col("dataset") == "all", pl.col("judge") == "all"
    )
    variances = dict(kept.select("component", "variance").iter_rows())
    assert variances["judges by turns"] == pytest.approx(0.16, abs=0.02)
    assert abs(variances["judges"]) < 0.005


def test_one_judge_is_a_reason() -> None:
    found = rows(table(verdicts(3, 2)), "all")
    assert set(found.values()) == {(False, None, "no turn that several judges scored")}


def test_over_datasets_is_the_mean_of_the_datasets() -> None:
    one = verdicts(3, 2)
    other = verdicts(4, 2, n_items=30).with_columns(dataset=pl.lit("e"))
    found = table(pl.concat([one, other])).filter(
        pl.col("judge") == "j", pl.col("component") == "items"
    )
    by = dict(found.select("dataset", "variance").iter_rows())
    assert by["all"] == pytest.approx((by["d"] + by["e"]) / 2)
    assert printed(LAYOUT, found).height == 1
