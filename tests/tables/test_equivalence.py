"""Claims against margins: what holds, what does not, and what cannot be said."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.support.made_up_results import made_up_config
from userturn.study.grid import Grid
from userturn.tables.equivalence import (
    LAYOUT,
    NOT_SHOWN,
    adjusted,
    decoupled_over_items,
    decoupled_over_models,
    hide_other_judges,
    near_zero,
    no_accuracy_loss,
    no_change,
    table,
)
from userturn.tables.item_pairs import cells_of
from userturn.tables.layout import printed
from userturn.tables.make_tables import Material

WHERE = {"family": "f", "dataset": "d", "judge": "j"}


def cell(genuine: Sequence[bool], **place: Any) -> pl.DataFrame:
    """Return one turn an item of a cell; by default of model m, unperturbed, at temperature 0."""
    place = {"model": "m", "temperature": 0.0, "perturbation": "none", **WHERE} | place
    rows = [
        place | {"item": f"i{i}", "n_turns": 1, "n_scored": 1, "n_genuine": int(g), "first": g}
        for i, g in enumerate(genuine)
    ]
    return pl.DataFrame(rows)


def share(n: int, n_genuine: int) -> list[bool]:
    return [i < n_genuine for i in range(n)]


def test_study_recorded_before_there_were_margins_says_so() -> None:
    grid = made_up_config(["m"], ["open"])
    del grid["statistics"]["margins"]
    row = table(Material(Grid(grid, "results"), {})).row(0, named=True)
    assert row["reason"] == "the record of this study is older than the margins"


@pytest.mark.parametrize(
    ("n", "n_genuine", "holds"), [(400, 4, "yes"), (30, 1, "undecided"), (400, 60, "no")]
)
def test_rate_is_near_zero_only_where_its_interval_is_below_the_margin(
    n: int, n_genuine: int, holds: str
) -> None:
    table = adjusted(list(near_zero(cell(share(n, n_genuine)), 0.05)))
    assert table["holds"].to_list() == [holds]


def test_near_zero_speaks_of_the_lowest_temperature_without_a_perturbation() -> None:
    items = pl.concat(
        [
            cell(share(400, 2)),
            cell(share(400, 200), temperature=1.0),
            cell(share(400, 200), perturbation="truncate"),
        ]
    )
    table = adjusted(list(near_zero(items, 0.05)))
    assert table.select("temperature", "estimate", "holds").rows() == [(0.0, 0.005, "yes")]


def changes(first: list[bool], second: list[bool]) -> dict[str, str]:
    items = pl.concat([cell(first), cell(second, perturbation="truncate")])
    table = adjusted(list(no_change(items, [], 0.05)))
    return dict(table.select("quantity", "holds").iter_rows())


def test_change_of_few_items_is_undecided_and_of_many_none() -> None:
    assert set(changes(share(20, 5), share(20, 5)).values()) == {"undecided"}
    assert changes(share(900, 100), share(900, 105)) == {
        "change of a model's rate": "yes",
        "change of a family's rate": "yes",
    }
    assert set(changes(share(900, 100), share(900, 300)).values()) == {"no"}


def test_controls_are_no_perturbation_that_may_leave_a_rate_alone() -> None:
    items = pl.concat([cell(share(50, 5)), cell(share(50, 5), perturbation="header_only")])
    assert list(no_change(items, ["header_only"], 0.05)) == []


@pytest.mark.parametrize(("n_right", "holds"), [(700, "yes"), (640, "no"), (682, "undecided")])
def test_accuracy_is_kept_where_the_loss_is_below_the_margin(n_right: int, holds: str) -> None:
    columns = {"temperature": None, "judge": "verifier"}
    graded = pl.concat(
        [
            cell(share(1000, n), model=model, **columns).with_columns(
                temperature=pl.lit(None, dtype=pl.Float64)
            )
            for model, n in (("base", 700), ("sft", n_right))
        ]
    )
    table = adjusted(
        list(no_accuracy_loss(cells_of(graded), {("sft", "base"): [("sft", "base")]}, 0.02))
    )
    assert table["holds"].to_list() == [holds]


def test_study_without_trained_models_says_so() -> None:
    table = adjusted(list(no_accuracy_loss(cells_of(cell(share(1, 1))), {}, 0.02)))
    assert table.select("holds", "reason").rows() == [
        (None, "no model line of this study names its base")
    ]


def limits_away(beside: pl.DataFrame, half: float) -> pl.DataFrame:
    """Return models with the limits of their accuracy and rate at this distance."""
    return beside.with_columns(
        (pl.col(f"{name}_estimate") + sign * half).alias(f"{name}_{part}")
        for name in ("accuracy", "followup")
        for part, sign in (("lower", -1), ("upper", 1))
    )


def test_eleven_models_can_hardly_show_that_a_correlation_is_none() -> None:
    rng = np.random.default_rng(0)
    beside = pl.DataFrame(
        {
            "dataset": "all", "temperature": 0.0, "judge": "j", "family": list("abcdefghijk"),
            "accuracy_estimate": rng.random(11), "followup_estimate": rng.random(11),
        }
    )  # fmt: skip
    beside = limits_away(beside, 0.02)
    table = adjusted(list(decoupled_over_models(beside, 0.3)))
    assert (table["n"][0], table["holds"][0]) == (11, "undecided")


def test_rates_that_differ_by_chance_alone_are_never_called_decoupled() -> None:
    # 2,000 models whose rates do not correlate. Measured well they show it; with limits as wide as
    # the rates' spread, a true correlation would be hidden too.
    values = np.random.default_rng(0).random((2, 2000))
    beside = pl.DataFrame(
        {
            "dataset": "all", "temperature": 0.0, "judge": "j",
            "family": list(map(str, range(2000))),
            "accuracy_estimate": values[0], "followup_estimate": values[1],
        }
    )  # fmt: skip
    measured = [
        adjusted(list(decoupled_over_models(limits_away(beside, half), 0.3))).row(0, named=True)
        for half in (0.02, 0.6)
    ]
    assert [row["holds"] for row in measured] == ["yes", None]
    assert measured[1]["reason"].startswith("no interval: what sampling leaves")


def test_models_of_whom_there_are_too_few_have_a_reason() -> None:
    beside = pl.DataFrame(
        {
            "dataset": ["all"], "temperature": [0.0], "judge": ["j"], "family": ["a"],
            "accuracy_estimate": [0.5], "followup_estimate": [0.5],
        }
    )  # fmt: skip
    table = adjusted(list(decoupled_over_models(limits_away(beside, 0.1), 0.3)))
    assert table.select("holds", "reason").rows() == [(None, "needs 3 models, has 1")]


def association(counts: list[int]) -> pl.DataFrame:
    names = ("n_right_genuine", "n_right_not", "n_wrong_genuine", "n_wrong_not")
    place = {**WHERE, "model": "m", "temperature": 0.0}
    return pl.DataFrame([place | dict(zip(names, counts, strict=True))])


@pytest.mark.parametrize(
    ("counts", "holds"),
    [([400, 1600, 400, 1600], "yes"), ([4, 16, 4, 16], "undecided"), ([800, 800, 200, 800], "no")],
)
def test_items_are_decoupled_where_the_odds_ratio_is_near_one(
    counts: list[int], holds: str
) -> None:
    table = adjusted(list(decoupled_over_items(association(counts), 1.5)))
    assert table["holds"].to_list() == [holds]


def test_claims_of_a_kind_are_adjusted_together() -> None:
    items = pl.concat([cell(share(400, 8), model=name) for name in ("a", "b", "c")])
    table = adjusted(list(near_zero(items, 0.05)))
    assert table["p_adjusted"].to_list() == pytest.approx((3 * table["p"]).to_list())


def test_every_row_is_printed() -> None:
    table = adjusted(
        [
            *near_zero(cell(share(30, 1)), 0.05),
            *no_accuracy_loss(cells_of(cell(share(1, 1))), {}, 0.1),
        ]
    )
    assert printed(LAYOUT, table).height == table.height == 2


def test_a_claim_by_a_judge_that_is_not_validated_neither_holds_nor_fails() -> None:
    rows = [{"judge": judge, "holds": holds} for judge in "jv" for holds in ("yes", "no", None)]
    told = hide_other_judges(pl.DataFrame(rows, schema_overrides={"holds": pl.String}).with_columns(
        reason=pl.lit(None, pl.String)), ["v"])  # fmt: skip
    assert told["holds"].to_list() == ["unknown", "unknown", None, "yes", "no", None]
    assert told["reason"].to_list() == [NOT_SHOWN] * 2 + [None] * 4
