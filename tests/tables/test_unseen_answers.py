"""The table of turns that were written without the answer, judged after it."""

from typing import Any

import polars as pl
import pytest

from tests.support.paired_counts import newcombe
from userturn.stats.proportions import wilson
from userturn.tables.unseen_answers import REASONS, SCHEMA, unseen_answers


def verdicts(
    perturbation: str, *genuine: bool | None, dataset: str = "d", first: int = 0
) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {"model": "m", "dataset": dataset, "temperature": 0.5, "perturbation": perturbation}
        | {"item": str(number), "sample": 0, "judge": "j", "genuine": one}
        for number, one in enumerate(genuine, first)
    ]
    return pl.DataFrame(rows, schema_overrides={"sample": pl.Int32, "genuine": pl.Boolean})


def rows_of(
    seen: pl.DataFrame, unseen: pl.DataFrame, *controls: str
) -> dict[tuple[str, str], dict[str, Any]]:
    table = unseen_answers(seen, unseen, controls or ("no_answer",))
    assert dict(table.schema) == SCHEMA
    return {(row["perturbation"], row["dataset"]): row for row in table.to_dicts()}


# Of 40 items 12 react, 5 fit the answer unseen, 3 are both.
SEEN = [True] * 12 + [False] * 28
UNSEEN = [True] * 3 + [False] * 9 + [True] * 2 + [False] * 26


def test_what_seeing_the_answer_adds_is_newcombes_difference_over_the_same_items() -> None:
    row = rows_of(verdicts("none", *SEEN), verdicts("no_answer", *UNSEEN))["no_answer", "d"]
    assert (row["n_turns"], row["n_scored"], row["reason"]) == (40, 40, None)
    assert (row["unseen"], row["unseen_lower"], row["unseen_upper"]) == pytest.approx(wilson(5, 40))
    found = row["above_unseen"], row["above_unseen_lower"], row["above_unseen_upper"]
    assert found == pytest.approx(tuple(map(float, newcombe(3, 2, 9, 26))))


def test_each_control_has_rows_of_its_own_and_one_over_all_datasets() -> None:
    seen = pl.concat([verdicts("none", *SEEN), verdicts("none", *SEEN, dataset="e")])
    unseen = pl.concat(
        [verdicts(control, *UNSEEN, dataset=of) for control in ("a", "b") for of in ("d", "e")]
    )
    rows = rows_of(seen, unseen, "a", "b")
    assert list(rows) == [
        ("a", "all"),
        ("b", "all"),
        ("a", "d"),
        ("b", "d"),
        ("a", "e"),
        ("b", "e"),
    ]
    assert rows["a", "all"]["n_turns"] == 80
    assert rows["a", "all"]["above_unseen"] == pytest.approx(7 / 40)


def test_each_dataset_counts_as_often_as_its_unperturbed_turns_over_all_datasets() -> None:
    # Of d 10 of its 40 turns are judged again, half are genuine; of e 10 of 10, none is.
    seen = pl.concat([verdicts("none", *SEEN), verdicts("none", *[False] * 10, dataset="e")])
    of_d, of_e = [True] * 5 + [False] * 5, [False] * 10
    unseen = pl.concat([verdicts("no_answer", *of_d), verdicts("no_answer", *of_e, dataset="e")])
    assert rows_of(seen, unseen)["no_answer", "all"]["unseen"] == pytest.approx(20 / 50)


def test_a_control_without_a_turn_or_a_verdict_says_why() -> None:
    seen = verdicts("none", *SEEN)
    none = rows_of(seen, verdicts("a", *UNSEEN).clear(), "a")["a", "d"]
    unscored = rows_of(seen, verdicts("a", None, None), "a")["a", "d"]
    assert [none["reason"], unscored["reason"]] == list(REASONS.values())
    assert [none["unseen"], unscored["unseen"]] == [None, None]
    assert (unscored["n_turns"], unscored["n_scored"]) == (2, 0)
