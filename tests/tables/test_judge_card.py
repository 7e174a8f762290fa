"""A judge card says how far a judge is right, over turns whose kind is known."""

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from userturn.judges.judge import OF_SOME, VERDICTS_SCHEMA
from userturn.judges.verdict import GENUINE
from userturn.tables.judge_card import CARD, NOT_SCORED, judge_card, measures
from userturn.tables.known_turns import TURN, add_true_labels


def turns(*rows: tuple[str, str | None], source: str = "labelled", **more: str) -> pl.DataFrame:
    """Return turns of one judge, each a truth and what the judge said, of conversations of two."""
    made = [
        {"judge": "j", "source": source, "cluster": f"c{n // 2}", "truth": truth, "label": label}
        | {"kind": truth, "weight": 1.0, **more}
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


def drawn(per_side: dict[bool, int], found: dict[bool, int], size: dict[bool, int]) -> pl.DataFrame:
    """Return labelled turns of a judge's two sides, of which some are genuine by people.

    Each represents as many turns of its side as were not drawn for it.
    """
    rows = [
        (GENUINE if n < found[called] else "generic", GENUINE if called else "generic", called)
        for called, n_drawn in per_side.items()
        for n in range(n_drawn)
    ]
    made = turns(*((truth, label) for truth, label, _ in rows), source="people")
    weights = [size[called] / per_side[called] for *_, called in rows]
    return made.with_columns(
        cluster=pl.int_range(pl.len()).cast(pl.String), weight=pl.Series(weights)
    )


# The judge calls 30 of 1,000 turns genuine: 10 are drawn, 5 are genuine, so 15 of the 30. Of the
# 970 others 97 are drawn, 3 are genuine, so 30 of the 970: 15 of 45 genuine turns are found, and
# 940 of the 955 others.
DRAWN = drawn({True: 10, False: 97}, {True: 5, False: 3}, {True: 30, False: 970})


def test_a_drawn_turn_counts_for_those_that_it_represents() -> None:
    card = measured(judge_card(DRAWN, 1))
    assert card["sensitivity"]["estimate"] == pytest.approx(15 / 45)
    assert card["specificity"]["estimate"] == pytest.approx(940 / 955)
    assert card["right side"]["estimate"] == pytest.approx(955 / 1000)
    for row in card.values():
        assert row["lower"] < row["estimate"] < row["upper"]
    assert (card["sensitivity"]["n_turns"], card["sensitivity"]["n_scored"]) == (8, 8)
    kinds = measured(judge_card(DRAWN, 1), by="kind", group=GENUINE)
    assert kinds["sensitivity"]["estimate"] == pytest.approx(15 / 45)


def test_a_side_on_which_no_genuine_turn_was_found_may_still_have_some() -> None:
    none = drawn({True: 10, False: 97}, {True: 5, False: 0}, {True: 30, False: 970})
    sensitivity = measured(judge_card(none, 1))["sensitivity"]
    # Up to about 3.7% of 970 turns (exact limit of 0 of 97), 36 beside the 15 found.
    assert (sensitivity["estimate"], sensitivity["upper"]) == (1, 1)
    assert 0.15 < sensitivity["lower"] < 0.35


@pytest.mark.parametrize("side", [True, False])
def test_a_judge_of_one_side_has_its_measures_or_none(side: bool) -> None:
    table = drawn({side: 10}, {side: 4}, {side: 100})
    card = measured(judge_card(table, 1))
    assert card["sensitivity"]["estimate"] == (1 if side else 0)
    assert card["specificity"]["estimate"] == (0 if side else 1)
    assert (
        not pl.DataFrame(list(card.values())).select(pl.selectors.float().is_nan().any()).row(0)[0]
    )


@pytest.mark.parametrize("labels", [(GENUINE, GENUINE), ("generic", GENUINE), (GENUINE, None)])
def test_labels_of_one_side_or_of_one_turn_give_no_nan(labels: tuple[str, str | None]) -> None:
    for n in (1, 3):
        card = judge_card(turns(*[labels] * n, source="people").with_columns(weight=9.0), 1)
        floats = card.select(pl.selectors.float())
        assert not any(floats[name].is_nan().any() for name in floats.columns)
        assert card.filter(pl.col("estimate").is_null(), pl.col("reason").is_null()).is_empty()


def _sampled(rng: np.random.Generator, rate: float, right: tuple[float, float], n: int) -> Any:
    """Return the turns that the project draws of 24 cells of 400: n of each label of a judge.

    By default one of each, and two that the judge calls genuine; each judge's label other than
    genuine has its share of the others.
    """
    truth = rng.random((24, 400)) < rate
    called = rng.random((24, 400)) < np.where(truth, right[0], 1 - right[1])
    stratum = np.where(called, 5, rng.choice(5, (24, 400), p=[0.6, 0.2, 0.1, 0.05, 0.05]))
    parts = []
    for cell, label in product(range(24), range(6)):
        place = np.flatnonzero(stratum[cell] == label)
        n_drawn = min(len(place), 2 if label == 5 and n == 1 else n)
        parts += [(truth[cell, i], label == 5, len(place) / n_drawn) for i in place[:n_drawn]]
    genuine, judged, weights = zip(*parts, strict=True)
    made = turns(
        *(
            (GENUINE if t else "a", GENUINE if j else "a")
            for t, j in zip(genuine, judged, strict=True)
        )
    )
    return made.with_columns(
        cluster=pl.int_range(pl.len()).cast(pl.String), weight=pl.Series(weights)
    )


@pytest.mark.long
@pytest.mark.parametrize("n", [1, 10])
@pytest.mark.parametrize(
    ("rate", "right"),
    [(0.01, (0.48, 0.99)), (0.03, (0.3, 0.99)), (0.03, (0.52, 0.979)), (0.2, (0.51, 0.98))],
)
def test_the_card_by_people_holds_the_truth(
    rate: float, right: tuple[float, float], n: int
) -> None:
    rng, held = np.random.default_rng(5), np.zeros(2)
    for _ in range(500):
        found = {row["measure"]: row for row in measures(_sampled(rng, rate, right, n), {})}
        rows = [found["sensitivity"], found["specificity"]]
        held += [r["lower"] <= true <= r["upper"] for r, true in zip(rows, right, strict=True)]
    assert (held / 500 >= 0.93).all()


def test_the_card_does_not_depend_on_the_order_of_turns() -> None:
    assert judge_card(TEN, 1).equals(judge_card(TEN.reverse(), 1))
    assert dict(judge_card(TEN, 1).schema) == dict(CARD)


def test_a_rare_kind_of_planted_failures_counts_as_much_as_a_common_one() -> None:
    # Of 160 thanks all are rejected, of 40 other turns 30: the mean is .875, pooled it were .95.
    thanks = turns(*[("generic", "generic")] * 160, source="planted", kind="thanks")
    said = [("unrelated", "unrelated")] * 30 + [("unrelated", GENUINE)] * 10
    other = turns(*said, source="planted", kind="other_turn")
    rows = measured(judge_card(pl.concat([thanks, other]), 1))
    assert rows["specificity"]["estimate"] == pytest.approx(0.875)
    assert rows["specificity"]["lower"] < 0.83 and rows["specificity"]["n_scored"] == 200
    assert rows["right side"]["estimate"] == rows["specificity"]["estimate"]


SAID = [  # probability of a genuine follow-up, and the truth
    (0.1, "generic"), (0.15, GENUINE), (0.7, GENUINE), (0.75, "unrelated"), (1.0, GENUINE),
]  # fmt: skip


def card(said: list[tuple[float | None, str]]) -> pl.DataFrame:
    """Return the card of a judge on labelled turns, each of a conversation of its own."""
    rows = [
        {
            "item": str(at),
            "judge": "j",
            "label": GENUINE,
            "probabilities": None
            if p is None
            else [{"label": "generic", "probability": 1 - p}, {"label": GENUINE, "probability": p}],
        }
        for at, (p, _) in enumerate(said)
    ]
    verdicts = pl.DataFrame(rows, schema=VERDICTS_SCHEMA | OF_SOME)
    ids = [str(at) for at in range(len(said))]
    items = pl.DataFrame({"item": ids, "conversation": ids, "label": [truth for _, truth in said]})
    texts = pl.DataFrame({"item": ids, "text": ids})
    return judge_card(
        add_true_labels(verdicts, items.with_columns(language=pl.lit("en")), texts), 1
    )


def test_the_brier_score_is_the_mean_squared_error() -> None:
    (row,) = card(SAID).filter(measure="brier").to_dicts()
    # (0.01 + 0.7225 + 0.09 + 0.5625 + 0) / 5
    assert row["estimate"] == pytest.approx(0.277)
    assert (row["by"], row["n_scored"]) == ("all", 5)


def test_bins_have_mean_probability_and_share_of_genuine_turns() -> None:
    found = card(SAID).filter(by="probability")
    rows = [row[:4] for row in found.select("group", "measure", "estimate", "n_turns").iter_rows()]
    assert rows == [
        ("0.0 to 0.2", "mean probability", 0.125, 2),
        ("0.0 to 0.2", "share genuine", 0.5, 2),
        ("0.6 to 0.8", "mean probability", 0.725, 2),
        ("0.6 to 0.8", "share genuine", 0.5, 2),
        ("0.8 to 1.0", "mean probability", 1.0, 1),
        ("0.8 to 1.0", "share genuine", 1.0, 1),
    ]
    shares = found.filter(measure="share genuine")
    assert (shares["lower"] < shares["estimate"]).all()


def test_a_judge_without_probabilities_has_none_of_it() -> None:
    measures = set(card([(None, GENUINE), (None, "generic")])["measure"])
    assert measures.isdisjoint({"brier", "mean probability", "share genuine"})
