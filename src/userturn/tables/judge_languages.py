"""What is known of a judge in a language: by its rules, and by its card."""

from typing import Any

import polars as pl

from userturn.controls.control_turn import HUMAN
from userturn.judges.kinds import complete_judges, kind_of
from userturn.study.inputs import LABELLED
from userturn.tables.make_tables import Material
from userturn.tables.turn_clusters import limits_of

ENGLISH = "en"
ENGLISH_ONLY = "the judge knows only English"
# What the judge's card says of the language: its measure, by the source of the turns.
KNOWN = {
    "ceiling": (HUMAN, "sensitivity"),
    "sensitivity": (LABELLED, "sensitivity"),
    "specificity": (LABELLED, "specificity"),
}


def english_only(material: Material) -> set[str]:
    """Return the judges of a study whose rules know only English."""
    entries, judges = complete_judges(material.grid.config), material.grid.judges
    return {name for name in judges if kind_of(entries[name]).IS_ENGLISH_ONLY}


def known_of(card: pl.DataFrame, judge: str, language: str | None) -> dict[str, Any]:
    """Return what the judge's card says of turns in a language."""
    of_judge = card.filter(pl.col("judge") == judge, pl.col("by") == "language")
    of_language = of_judge.filter(pl.col("group") == pl.lit(language, dtype=pl.String))
    row: dict[str, Any] = {}
    for name, (source, measure) in KNOWN.items():
        found = of_language.filter(pl.col("source") == source, pl.col("measure") == measure)
        limits = found.select("estimate", "lower", "upper").rows()
        row |= limits_of(name, limits[0] if limits else (None, None, None))
    if all(value is None for value in row.values()):
        row["known_reason"] = "no turn of a known kind in this language"
    return row
