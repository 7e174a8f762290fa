"""Interactions of families with conditions: what is compared, and within which sets of tests."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.synthetic_study import write_study
from userturn.tables.contrast_tests import compared_members
from userturn.tables.contrasts import LAYOUT, SCHEMA, contrasts
from userturn.tables.layout import printed
from userturn.tables.turn_rates import count_items

MODELS = {"qwen3.5-2b": "qwen", "qwen3.5-4b": "qwen", "gpt-oss-20b": "gpt-oss", "glm-4.7": "glm"}

FAMILIES = pl.DataFrame(
    {"model": list(MODELS), "family": list(MODELS.values()), "base": [None] * 4},
    schema_overrides={"base": pl.String},
)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Truncation adds 12 points to gpt-oss and GLM and nothing to Qwen."""
    folder: Path = tmp_path_factory.mktemp("study")
    paths, _ = write_study(
        folder,
        models=list(MODELS),
        datasets={"gsm8k": 900, "coval": 300},
        temperatures=(0.0, 1.0),
        perturbations=("none", "truncate"),
        n_samples=2,
    )
    family = pl.col("model").cast(pl.String).replace_strict(MODELS)
    return count_items(paths).with_columns(family=family.cast(pl.Categorical))


def interactions(items: pl.DataFrame) -> pl.DataFrame:
    return contrasts(items, {}, [], {}, compared_members(FAMILIES))[1]


@pytest.fixture(scope="module")
def table(items: pl.DataFrame) -> pl.DataFrame:
    return interactions(items)


def test_families_that_differ_are_found_and_those_that_do_not_are_not(table: pl.DataFrame) -> None:
    rows = table.filter(factor="perturbation", correction="Holm")
    found = {
        (family, other): (difference, p < 0.05)
        for family, other, difference, p in rows.select(
            "family", "other_family", "difference", "p_adjusted"
        ).iter_rows()
    }
    assert found["glm", "gpt-oss"] == (pytest.approx(0, abs=0.05), False)
    assert found["glm", "qwen"] == (pytest.approx(0.12, abs=0.05), True)
    assert found["gpt-oss", "qwen"] == (pytest.approx(0.12, abs=0.05), True)


def test_difference_is_that_of_the_two_changes_and_counts_models_and_items(
    table: pl.DataFrame,
) -> None:
    assert (table["difference"] - (table["change"] - table["change_other"])).abs().max() < 1e-9
    row = table.filter(family="glm", other_family="qwen", dataset="all").row(0, named=True)
    assert (row["n_models"], row["n_models_other"]) == (1, 2)
    assert 1000 < row["n_items"] <= 1200


def test_items_that_one_family_lacks_are_no_model_of_it(items: pl.DataFrame) -> None:
    family, item = (pl.col(name).cast(pl.String) for name in ("family", "item"))
    lacks = (family == "glm") & (item == items["item"].cast(pl.String)[0])
    table = interactions(items.filter(~lacks))
    row = table.filter(family="glm", other_family="qwen", dataset="all").row(0, named=True)
    assert (row["n_models"], row["n_models_other"]) == (1, 2)


def test_only_the_main_rows_over_all_datasets_confirm(table: pl.DataFrame) -> None:
    confirming = table.filter(correction="Holm")
    assert set(confirming["dataset"]) == {"all"}
    assert confirming.filter(factor="perturbation")["temperature"].unique()[0] == 0
    assert set(confirming.filter(factor="temperature")["perturbation"]) == {"none"}
    assert confirming.height == 6  # three pairs, one perturbation and one temperature
    assert (table["p_adjusted"] >= table["p"]).all()


def test_one_turn_against_two_is_tested_on_first_samples(table: pl.DataFrame) -> None:
    warm = table.filter(factor="temperature")
    assert set(warm["test"]) == {"sign flips exact of first samples"}


def test_study_of_one_family_says_why_there_is_no_interaction(items: pl.DataFrame) -> None:
    table = interactions(items.filter(pl.col("family").cast(pl.String) == "qwen"))
    table = pl.concat([pl.DataFrame(schema=SCHEMA), table], how="diagonal_relaxed")
    reason = "no two families under two conditions on the same items; families: qwen"
    assert table["reason"].to_list() == printed(LAYOUT[1], table)["reason"].to_list() == [reason]
