"""The reliability of a judge's probabilities, by hand."""

import polars as pl
import pytest

from userturn.judges.judge import OF_SOME, VERDICTS_SCHEMA
from userturn.judges.verdict import GENUINE
from userturn.tables.judge_card import judge_card
from userturn.tables.known_turns import beside_labels

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
    return judge_card(beside_labels(verdicts, items.with_columns(language=pl.lit("en")), texts), 1)


def test_the_brier_score_is_the_mean_squared_error() -> None:
    (row,) = card(SAID).filter(pl.col("measure") == "brier").to_dicts()
    # (0.01 + 0.7225 + 0.09 + 0.5625 + 0) / 5
    assert row["estimate"] == pytest.approx(0.277)
    assert (row["by"], row["n_scored"]) == ("all", 5)


def test_bins_have_mean_probability_and_share_of_genuine_turns() -> None:
    found = card(SAID).filter(pl.col("by") == "probability")
    rows = [row[:4] for row in found.select("group", "measure", "estimate", "n_turns").iter_rows()]
    assert rows == [
        ("0.0 to 0.2", "mean probability", 0.125, 2),
        ("0.0 to 0.2", "share genuine", 0.5, 2),
        ("0.6 to 0.8", "mean probability", 0.725, 2),
        ("0.6 to 0.8", "share genuine", 0.5, 2),
        ("0.8 to 1.0", "mean probability", 1.0, 1),
        ("0.8 to 1.0", "share genuine", 1.0, 1),
    ]
    shares = found.filter(pl.col("measure") == "share genuine")
    assert (shares["lower"] < shares["estimate"]).all()


def test_a_judge_without_probabilities_has_none_of_it() -> None:
    measures = set(card([(None, GENUINE), (None, "generic")])["measure"])
    assert measures.isdisjoint({"brier", "mean probability", "share genuine"})
