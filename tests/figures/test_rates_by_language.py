"""The figure by language has each measure with its interval, and says what it leaves out."""

from typing import Any

import polars as pl

from userturn.figures.rates_by_language import rates_by_language
from userturn.tables.families import SCHEMA as FAMILIES_SCHEMA
from userturn.tables.languages import SCHEMA
from userturn.tables.parts_of_cells import BY_LANGUAGE, ENGLISH_ONLY
from userturn.tables.rates import SCHEMA as RATES

FAMILIES = pl.DataFrame([{"model": "m", "family": "f"}], schema=FAMILIES_SCHEMA)


def row(language: str | None, **values: Any) -> dict[str, Any]:
    place = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none"}
    return place | {"language": language} | values


def limits(name: str, value: float) -> dict[str, float]:
    return {name: value, f"{name}_lower": value - 0.1, f"{name}_upper": value + 0.1}


TABLE = pl.DataFrame(
    [
        row("en", **limits("accuracy", 0.5)),
        row("de", **limits("turned_in_another", 0.9)),
        row(None, **limits("accuracy", 0.3)),
    ],
    schema=SCHEMA,
)
SCORED = [
    row("en", estimate=0.4, lower=0.2, upper=0.6),
    row("de", reason=ENGLISH_ONLY),
    row(None, reason=ENGLISH_ONLY),
]
RATED = pl.DataFrame(
    [one | {"group": one["language"], "scope": BY_LANGUAGE, "judge": "j"} for one in SCORED],
    schema=RATES,
)


def test_each_language_has_its_measures_and_a_missing_rate_its_reason() -> None:
    chart = rates_by_language(RATED, TABLE, FAMILIES, "j").to_dict()
    drawn = {
        (r["language"], r["measure"]): (r["value"], round(r["lower"], 9), round(r["upper"], 9))
        for r in next(iter(chart["datasets"].values()))
    }
    assert drawn == {
        ("en", "genuine follow-ups"): (0.4, 0.2, 0.6),
        ("en", "right answers"): (0.5, 0.4, 0.6),
        ("de", "turns in another language"): (0.9, 0.8, 1.0),
        ("unknown", "right answers"): (0.3, 0.2, 0.4),
    }
    assert f"no rate where {ENGLISH_ONLY}" in str(chart["title"])


def test_a_study_without_any_measure_says_so() -> None:
    chart = rates_by_language(RATED.head(0), TABLE.head(0), FAMILIES, "j")
    assert "no turn was scored" in str(chart.to_dict())
