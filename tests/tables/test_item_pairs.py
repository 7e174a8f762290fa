"""Bounds on contrasts hold the difference over all turns, whatever made verdicts go missing."""

import numpy as np
import polars as pl
import pytest

from tests.support.paired_counts import newcombe
from userturn.tables.contrasts import accuracy_contrasts, contrasts

Verdicts = list[bool | None]
WHERE = {"model": "m", "family": "f", "dataset": "d", "perturbation": "none", "judge": "j"}


def items(cold: Verdicts, warm: Verdicts) -> pl.DataFrame:
    """Return items of one model at temperatures 0 and 1, one turn each."""
    rows = [
        WHERE
        | {"temperature": t, "item": f"i{i}", "n_turns": 1}
        | {"n_scored": int(g is not None), "n_genuine": int(g or 0), "first": g}
        for t, cell in ((0.0, cold), (1.0, warm))
        for i, g in enumerate(cell)
    ]
    return pl.DataFrame(rows, schema_overrides={"first": pl.Boolean})


def of_the_model(cold: Verdicts, warm: Verdicts) -> dict[str, float]:
    """Return the contrast of the two temperatures over all datasets."""
    table = contrasts(items(cold, warm), {}, [], {}, pl.lit(True))[0]
    return dict(table.filter(scope="model").row(0, named=True))


def test_bounds_by_hand() -> None:
    # Warm of 4 items: 1 genuine, 1 not, 2 unscored: 1/4 to 3/4. Cold: 1 genuine, 3 not.
    row = of_the_model([True, False, False, False], [True, False, None, None])
    # Over all scored turns: 1 of 2 less 1 of 4; the test is over the two items of both.
    assert (row["n_items"], row["difference"]) == (2, 0.25)
    assert (row["least_if_unscored"], row["most_if_unscored"]) == (0, 0.5)
    # Lower limit: 1 both, 3 neither. Upper: 1 both, 2 of the condition only, 1 neither.
    _, lower, _ = newcombe(1, 0, 0, 3)
    _, _, upper = newcombe(1, 0, 2, 1)
    assert row["lower_if_unscored"] == pytest.approx(float(lower))
    assert row["upper_if_unscored"] == pytest.approx(float(upper))


def test_unscored_turns_of_the_baseline_count_the_other_way() -> None:
    row = of_the_model([None, False], [True, False])
    assert (row["least_if_unscored"], row["most_if_unscored"]) == (0, 0.5)


def test_where_every_turn_is_scored_bounds_are_the_difference_and_its_limits() -> None:
    row = of_the_model([True, False] * 10, [True, True, False, False] * 5)
    assert row["least_if_unscored"] == row["most_if_unscored"] == row["difference"]
    assert (row["lower_if_unscored"], row["upper_if_unscored"]) == (row["lower"], row["upper"])


def test_undecided_grades_bound_a_contrast_of_accuracies() -> None:
    grades = pl.DataFrame(
        [
            {"model": model, "dataset": dataset, "item": str(i), "correct": correct}
            for model, dataset, given in (
                ("base", "sums", [True, False, False]),
                ("sft", "sums", [True, True, None]),
                ("base", "chat", [None, None]),
                ("sft", "chat", [None, None]),
            )
            for i, correct in enumerate(given)
        ]
    )
    families = pl.DataFrame({"model": ["base", "sft"], "family": ["f", "f, post-trained"]})
    table = accuracy_contrasts(grades, families, SFT)
    row = table.filter(scope="model").row(0, named=True)
    # All of 2 decided answers, less 1 of 3.
    assert (row["n_items"], row["difference"]) == (2, pytest.approx(2 / 3))
    assert row["least_if_unscored"] == pytest.approx(1 / 3)
    assert row["most_if_unscored"] == pytest.approx(2 / 3)


def test_limits_hold_where_genuine_turns_go_missing_and_the_plain_test_rejects() -> None:
    # Equal rates of .2 on 1,319 items; when warm, 30% of genuine turns and 2% of others have no
    # verdict. The test on items that were scored twice rejects in about 7 of 10 studies.
    rng = np.random.default_rng(0)
    rejected = held = 0
    for _ in range(60):
        cold, warm = rng.random((2, 1319)) < 0.2
        lost = rng.random(1319) < np.where(warm, 0.3, 0.02)
        seen: Verdicts = [None if gone else bool(g) for g, gone in zip(warm, lost, strict=True)]
        row = of_the_model(cold.tolist(), seen)
        rejected += row["p"] < 0.05
        held += row["lower_if_unscored"] <= 0 <= row["upper_if_unscored"]
    assert rejected > 30
    assert held == 60


SEEN = {"sft": {"sums"}}
SFT = {("sft", "base"): [("sft", "base")]}


def test_a_trained_model_is_compared_over_the_datasets_that_it_has_not_seen() -> None:
    # Of sums it learnt all, of chat and talk nothing: 2 of 4 rise by half over both, 0 held out.
    answers = {"sums": ([False, False], [True, True]), "chat": ([True, False], [True, False])}
    rows = [
        WHERE
        | {"model": model, "dataset": dataset, "temperature": 0.0, "item": f"i{i}", "n_turns": 1}
        | {"n_scored": 1, "n_genuine": int(genuine), "first": genuine}
        for dataset, of_both in answers.items()
        for model, of_one in zip(("base", "sft"), of_both, strict=True)
        for i, genuine in enumerate(of_one)
    ]
    turns = pl.DataFrame(rows)
    grades = turns.select("model", "dataset", "item", correct=pl.col("n_genuine") == 1)
    families = pl.DataFrame({"model": ["base", "sft"], "family": ["f", "f"]})
    followed_up, _ = contrasts(turns, SFT, [], SEEN, pl.lit(True))
    for table in (followed_up, accuracy_contrasts(grades, families, SFT, SEEN)):
        found = table.filter(pl.col("scope").str.starts_with("model"), factor="model")
        place = found.select("scope", "dataset", "difference", "correction").rows()
        assert sorted(place) == [
            ("model", "all held out", 0.0, "Holm"),
            ("model and dataset", "chat", 0.0, "Benjamini-Hochberg"),
            ("model and dataset", "sums", 1.0, "Benjamini-Hochberg"),
            ("model, with seen datasets", "all", 0.5, "Benjamini-Hochberg"),
        ]
