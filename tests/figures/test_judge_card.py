"""The figure of a judge's card shows each measure over all turns of a source."""

import polars as pl

from userturn.figures.judge_card import judge_card
from userturn.tables.judges import SCHEMA

NOBODY = pl.DataFrame({"model": [], "family": []})


def card(*rows: tuple[str, str, float | None]) -> pl.DataFrame:
    made = [
        {"judge": "j", "source": source, "by": by, "measure": "kappa", "estimate": estimate}
        for source, by, estimate in rows
    ]
    return pl.DataFrame(made, schema=SCHEMA)


def test_only_measures_over_all_turns_that_are_defined_are_drawn() -> None:
    of = card(("labelled", "all", 0.7), ("labelled", "language", 0.1), ("planted", "all", None))
    (rows,) = judge_card(of, NOBODY, "j").to_dict()["datasets"].values()
    assert [(row["source"], row["estimate"]) for row in rows] == [("labelled turns", 0.7)]


def test_a_card_without_a_measure_is_one_sentence() -> None:
    (rows,) = judge_card(card(), NOBODY, "j").to_dict()["datasets"].values()
    assert rows == [{"note": "no turn of a known kind has a verdict"}]
