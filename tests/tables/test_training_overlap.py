"""What stands in training data is found, and a seen dataset that is reported as held out too."""

import polars as pl
import pytest

from userturn.audit.check_settings import held_out_findings
from userturn.tables.training_overlap import Learnt, count_overlap, grams, jaccard

LEARNT = Learnt(
    [
        "A farmer has 17 sheep and buys 5 more. How many sheep does he have now?",
        "thanks a lot",
    ]
)


def item(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_jaccard_of_grams_is_what_both_have_of_what_either_has() -> None:
    # abcde bcdef cdefg, and bcdef cdefg defgh: 2 of 4
    assert jaccard(grams("abcdefg"), grams("bcdefgh")) == 0.5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A farmer has 17 sheep and buys 5 more. How many sheep does he have now?", "exact"),
        ("a farmer has 17 sheep, and buys 5 more: how many sheep does he have now", "exact"),
        ("A farmer has 18 sheep and buys 5 more. How many sheep does he have now?", "near"),
        ("A baker has 17 loaves and sells 5. How many does she have left?", None),
        ("Thanks a lot!", None),  # too short to mean anything
    ],
)
def test_message_matches_exactly_nearly_or_not(text: str, found: str | None) -> None:
    assert LEARNT.match(text) == found


def test_items_are_counted_once_and_without_the_studys_instruction() -> None:
    text = "A farmer has 17 sheep and buys 5 more. How many sheep does he have now?"
    items = [item(f"{text}\n\nAnswer in one line."), item("What is it that you would like to eat?")]
    counts = count_overlap(LEARNT, items, "\n\nAnswer in one line.")
    assert counts == {"n_items": 2, "n_exact": 1, "n_near": 0}


def overlap(seen: bool = True, n_exact: int = 0, n_near: int = 0) -> pl.DataFrame:
    rows = [
        {"model": "m", "dataset": "math", "n_exact": 9, "n_near": 0, "seen": seen},
        {"model": "m", "dataset": "talk", "n_exact": n_exact, "n_near": n_near, "seen": False},
    ]
    return pl.DataFrame(rows)


def reported(**seen: bool | None) -> pl.DataFrame:
    rows = [
        {"factor": "model", "condition": "m", "dataset": name, "seen": value}
        for name, value in seen.items()
    ]
    return pl.DataFrame(rows, schema=["factor", "condition", "dataset", "seen"], orient="row")


def findings(overlaps: pl.DataFrame, table: pl.DataFrame) -> list[str]:
    found = held_out_findings({"m": ["math"]}, ["math", "talk"], overlaps, table)
    return [sentence for _, sentence in found]


HONEST = {"math": True, "talk": False, "all": True}


def test_honest_study_has_no_findings() -> None:
    assert findings(overlap(), reported(**HONEST)) == []


@pytest.mark.parametrize("value", [False, None])
def test_seen_dataset_that_is_reported_as_held_out_is_found(value: bool | None) -> None:
    found = findings(overlap(), reported(**HONEST | {"math": value}))
    assert found == [
        "math is reported as held out, but the recipe of m declares it under trained_on"
    ]


def test_mean_over_datasets_of_which_one_is_seen_is_not_held_out() -> None:
    assert len(findings(overlap(), reported(**HONEST | {"all": False}))) == 1


def test_items_in_training_data_of_an_undeclared_dataset_are_found() -> None:
    found = findings(overlap(n_exact=2, n_near=1), reported(**HONEST))
    assert found == [
        "2 items of talk occur in the training data of m, 1 more nearly, but its recipe does not "
        "declare it"
    ]


def test_dataset_that_was_never_compared_is_found() -> None:
    alone = overlap().filter(pl.col("dataset") == "math")
    assert findings(alone, reported(**HONEST)) == ["talk was not compared with m's training data"]
