"""A judge card says how far a judge is right, over turns whose kind is known."""

import polars as pl
import pytest

from userturn.tables.judge_card import (
    NOT_SCORED,
    SCHEMA,
    TURN,
    beside_labels,
    judge_card,
    lengths,
)

GENUINE = "genuine_followup"


def turns(*rows: tuple[str, str | None], source: str = "labelled", **more: str) -> pl.DataFrame:
    """Return turns of one judge, each a truth and what the judge said, of conversations of two."""
    made = [
        {"judge": "j", "source": source, "cluster": f"c{n // 2}", "truth": truth, "label": label}
        | {"kind": truth, **more}
        for n, (truth, label) in enumerate(rows)
    ]
    return pl.DataFrame(made, schema=TURN)


# Of four genuine turns two are called so, one is not, one is unscored; of six others one is called
# genuine, and of the five that are not two have another label.
TEN = turns(
    (GENUINE, GENUINE),
    (GENUINE, GENUINE),
    (GENUINE, "generic"),
    (GENUINE, None),
    ("generic", "generic"),
    ("generic", "generic"),
    ("generic", GENUINE),
    ("unrelated", "generic"),
    ("unrelated", "generic"),
    ("unrelated", "unrelated"),
)


def measured(card: pl.DataFrame, **of: str) -> dict[str, dict]:
    of = {"by": "all", "group": "all"} | of
    rows = card.filter(*(pl.col(name) == value for name, value in of.items()))
    return {row["measure"]: row for row in rows.to_dicts()}


def test_each_measure_counts_its_own_turns() -> None:
    card = measured(judge_card(TEN, 1))
    shares = {name: (row["estimate"], row["n_scored"]) for name, row in card.items()}
    assert shares["sensitivity"] == (pytest.approx(2 / 3), 3)
    assert shares["specificity"] == (pytest.approx(5 / 6), 6)
    assert shares["right side"] == (pytest.approx(7 / 9), 9)
    # 2 genuine, 2 generic and 1 unrelated of the nine have their very label.
    assert shares["right label"] == (pytest.approx(5 / 9), 9)
    assert card["sensitivity"]["n_turns"] == 4 and card["right side"]["n_conversations"] == 5


def test_kappa_is_cohens_on_the_two_sides() -> None:
    # Both genuine 2, truth alone 1, judge alone 1, neither 5: observed 7/9, by chance
    # (3 * 3 + 6 * 6) / 81 = 5/9, so kappa is (7/9 - 5/9) / (4/9) = 1/2.
    assert measured(judge_card(TEN, 1))["kappa"]["estimate"] == pytest.approx(0.5)


def test_kappa_of_turns_that_are_all_of_one_side_is_not_defined() -> None:
    failures = turns(("generic", "generic"), ("unrelated", GENUINE))
    assert measured(judge_card(failures, 1))["kappa"]["estimate"] is None
    card = measured(judge_card(turns((GENUINE, GENUINE), (GENUINE, "generic")), 1))
    assert card["kappa"]["estimate"] is None
    assert card["kappa"]["reason"] == "these turns are all of one side"


def test_turns_that_no_judge_scored_are_counted_with_the_reason() -> None:
    (row,) = (
        row
        for row in judge_card(turns((GENUINE, None), language="fr"), 1).to_dicts()
        if (row["by"], row["measure"]) == ("language", "sensitivity")
    )
    assert (row["n_turns"], row["n_scored"], row["estimate"]) == (1, 0, None)
    assert row["reason"] == NOT_SCORED


def test_groups_are_those_that_turns_have() -> None:
    card = judge_card(TEN.with_columns(language=pl.Series(["en"] * 5 + ["de"] * 5)), 1)
    groups = card.select("by", "group").unique().rows()
    assert set(groups) == {
        ("all", "all"),
        ("kind", GENUINE),
        ("kind", "generic"),
        ("kind", "unrelated"),
        ("language", "en"),
        ("language", "de"),
    }
    assert measured(card, by="language", group="de")["specificity"]["n_turns"] == 5


def test_a_majority_of_people_without_a_label_of_its_own_counts_for_the_side_alone() -> None:
    card = measured(judge_card(turns(("not genuine", "generic"), source="people"), 1))
    assert card["specificity"]["estimate"] == 1.0
    assert "right label" not in card


def test_the_card_does_not_depend_on_the_order_of_turns() -> None:
    assert judge_card(TEN, 1).equals(judge_card(TEN.reverse(), 1))
    assert dict(judge_card(TEN, 1).schema) == dict(SCHEMA)


def test_labelled_turns_are_joined_by_their_item() -> None:
    verdicts = pl.DataFrame({"judge": ["j", "j"], "item": ["b", "a"], "label": ["generic", None]})
    items = pl.DataFrame(
        {"item": ["a", "b"], "conversation": ["x", "y"], "language": ["en", "de"]}
        | {"label": [GENUINE, "generic"]}
    )
    said = pl.DataFrame({"item": ["a", "b"], "text": ["Why?", "x" * 121]})
    found = beside_labels(verdicts, items, said)
    assert found.select("cluster", "truth", "label", "length").rows() == [
        ("y", "generic", "generic", "over 120 characters"),
        ("x", GENUINE, None, "up to 30 characters"),
    ]


@pytest.mark.parametrize(
    ("n", "shown"),
    [
        (30, "up to 30 characters"),
        (31, "31 to 120 characters"),
        (120, "31 to 120 characters"),
        (121, "over 120 characters"),
    ],
)
def test_lengths_are_bins_of_characters(n: int, shown: str) -> None:
    assert pl.DataFrame({"t": ["x" * n]}).select(lengths(pl.col("t"))).item() == shown
