"""Rates by the language of the prompt, and the same problems across languages."""

from typing import Any

import polars as pl
import pytest

from userturn.datasets.language import TOO_SHORT
from userturn.generation.turn_languages import LANGUAGES_SCHEMA
from userturn.humans.labels import NO_LABELS
from userturn.storage.table_files import CELL_COLUMNS, JUDGED_CELL_KEYS, TURN_KEYS
from userturn.tables.contrast_tests import ADJUSTED_SCHEMA
from userturn.tables.corrected_rates import NO_SAMPLE, Domain
from userturn.tables.languages import SCHEMA, languages_table
from userturn.tables.parts_of_cells import (
    ENGLISH_ONLY,
    NOT_OF_EACH,
    add_missing_judges,
    between_languages,
    graded_problems,
    rates_by_language,
    scored_problems,
)

CELL: dict[str, Any] = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none"}
MEMBERS = pl.DataFrame({"model": ["m"], "family": ["f"]})
LABELS = Domain(
    pl.DataFrame(),
    pl.DataFrame(schema={**CELL_COLUMNS, **dict.fromkeys(("group", "id", "stratum"), pl.String)}),
    pl.DataFrame(schema={"id": pl.String}),
)


def _differ(one: str | None, other: str | None) -> bool | None:
    return None if None in (one, other) else one != other


def told(*items: tuple[str, str | None, str | None, str | None]) -> pl.DataFrame:
    """Return languages of turns: problem, language of prompt, answer and turn."""
    rows = [
        CELL
        | {"item": f"{problem}-{language}", "sample": 0, "problem": problem}
        | {"prompt_language": language, "answer_language": answer, "turn_language": turn}
        | {"turn_reason": None if turn else TOO_SHORT}
        | {"answered_in_another": _differ(answer, language)}
        | {"turned_in_another": _differ(turn, language)}
        | {"turned_unlike_answer": _differ(turn, answer)}
        for problem, language, answer, turn in items
    ]
    return pl.DataFrame(rows, schema=LANGUAGES_SCHEMA)


def judged(languages: pl.DataFrame, *genuine: bool | None, judge: str = "j") -> pl.DataFrame:
    verdict = pl.Series("genuine", genuine, dtype=pl.Boolean)
    label = pl.when("genuine").then(pl.lit("genuine_followup")).otherwise(pl.lit("generic"))
    told_of = languages.select(TURN_KEYS).with_columns(verdict, judge=pl.lit(judge))
    return told_of.with_columns(label=pl.when(pl.col("genuine").is_not_null()).then(label))


def graded(languages: pl.DataFrame, *correct: bool | None) -> pl.DataFrame:
    verdict = pl.Series("correct", correct, dtype=pl.Boolean)
    return languages.select("model", "dataset", "item").with_columns(verdict)


TOLD = told(
    ("1", "de", "en", "en"),
    ("2", "de", "de", "en"),
    ("3", "de", "de", None),
    ("4", "de", "de", "de"),
    ("1", "en", "en", "en"),
)
JUDGED = judged(TOLD, True, False, None, False, True)
GRADED = graded(TOLD, True, False, False, True, True)


def answered(told: pl.DataFrame, grades: pl.DataFrame) -> dict[str | None, dict[str, Any]]:
    table = languages_table(told, grades)
    assert dict(table.schema) == SCHEMA
    return {row["language"]: row for row in table.to_dicts()}


def rated(
    told: pl.DataFrame, verdicts: pl.DataFrame, english_only: tuple[str, ...] = ()
) -> dict[str | None, dict[str, Any]]:
    return {row["group"]: row for row in _rates(told, verdicts, english_only, LABELS).to_dicts()}


def _rates(
    told: pl.DataFrame, verdicts: pl.DataFrame, english_only: tuple[str, ...], labels: Domain
) -> pl.DataFrame:
    of_language = told.select(*TURN_KEYS, "turn_reason", group="prompt_language")
    turns = verdicts.join(of_language, on=TURN_KEYS, maintain_order="left")
    return rates_by_language(turns, MEMBERS, english_only, labels)


def test_a_language_has_its_accuracy_and_changes_of_language() -> None:
    row = answered(TOLD, GRADED)["de"]
    assert (row["n_turns"], row["n_graded"], row["accuracy"]) == (4, 4, 0.5)
    assert (row["n_answered_in_another"], row["answered_in_another"]) == (4, 0.25)
    assert row["n_turned_in_another"] == 3
    assert row["turned_in_another"] == pytest.approx(2 / 3)
    assert row["turned_unlike_answer"] == pytest.approx(1 / 3)
    assert row["untold"] == f"1 turn: {TOO_SHORT}"


def test_a_language_has_its_rate() -> None:
    row = rated(TOLD, JUDGED)["de"]
    assert (row["n_turns"], row["n_scored"], row["n_positive"]) == (4, 3, 1)
    assert row["estimate"] == pytest.approx(1 / 3)
    assert 0 < row["lower"] < 1 / 3 < row["upper"] < 1
    assert (row["if_unscored_negative"], row["if_unscored_positive"]) == (0.25, 0.5)


def test_a_judge_of_english_has_no_rate_in_another_language_and_says_why() -> None:
    rows = rated(TOLD, JUDGED, ("j",))
    assert (rows["en"]["estimate"], rows["en"]["reason"]) == (1, None)
    nulls = ("estimate", "lower", "upper", "if_unscored_negative", "n_positive", "corrected")
    assert [rows["de"][name] for name in nulls] == [None] * 6
    assert {rows["de"][f"{name}reason"] for name in ("", "corrected_")} == {ENGLISH_ONLY}


def test_a_language_without_a_verdict_says_so() -> None:
    row = rated(TOLD, judged(TOLD, None, None, None, None, True))["de"]
    assert (row["estimate"], row["reason"]) == (None, "no turn was scored")


def test_items_without_a_language_are_a_row_of_their_own() -> None:
    languages = told(("1", None, "de", "de"), ("2", "de", "de", "de"))
    rows = answered(languages, graded(languages, None, None))
    assert (rows[None]["n_turns"], rows[None]["n_turned_in_another"]) == (1, 0)
    assert rows["de"]["accuracy"] is None
    assert rated(languages, judged(languages, True, True))[None]["estimate"] == 1


def test_samples_of_an_item_are_no_independent_turns() -> None:
    twice = pl.concat([TOLD, TOLD.with_columns(sample=pl.lit(1, dtype=pl.Int64))])
    once, both = (
        rated(TOLD, JUDGED)["de"],
        rated(twice, judged(twice, *[True, False, None, False, True] * 2))["de"],
    )
    assert (both["estimate"], both["n_turns"]) == (once["estimate"], 8)
    assert both["upper"] == pytest.approx(once["upper"], abs=0.02)
    answers = [answered(one, GRADED)["de"]["answered_in_another_upper"] for one in (TOLD, twice)]
    assert answers[0] == answers[1]


def test_turns_that_nobody_labelled_have_no_corrected_rate() -> None:
    row = rated(TOLD, JUDGED)["de"]
    assert (row["corrected"], row["n_labelled"]) == (None, 0)
    assert row["corrected_reason"] in (NO_SAMPLE, NO_LABELS)


def test_a_rate_is_corrected_only_where_each_stratum_was_drawn_in_the_language() -> None:
    """Of four German turns, half of each of two strata were drawn, and both called genuine."""
    keys = TOLD.select(TURN_KEYS, group="prompt_language").with_row_index("id")
    known = keys.with_columns(pl.col("id").cast(pl.String)).filter(pl.col("id").is_in(["0", "1"]))
    strata = pl.Series("stratum", ["genuine_followup", "generic"])
    drawn = known.with_columns(strata, judge=pl.lit("j"), inclusion_probability=pl.lit(0.5))
    people = pl.DataFrame({"id": ["0", "1"], "share_genuine": [1.0, 1.0]})
    found = _rates(TOLD, JUDGED, (), Domain(TOLD, drawn, people))
    row = found.row(by_predicate=pl.col("group") == "de", named=True)
    # The judge calls one of four genuine; two of four turns differ: 1/4 + mean of (0, 1).
    assert row["corrected"] == pytest.approx(0.75)
    assert row["n_labelled"] == 2
    other = drawn.with_columns(group=pl.Series(["de", "en"]))
    found = _rates(TOLD, JUDGED, (), Domain(TOLD, other, people))
    row = found.row(by_predicate=pl.col("group") == "de", named=True)
    assert (row["corrected"], row["corrected_reason"]) == (None, f"{NOT_OF_EACH}: 1 without one")


PAIRS = told(
    *[(str(n), language, language, language) for n in range(20) for language in ("de", "en", "fr")]
)
# German: genuine in the first 4 problems; English: in the first 14; French as English.
BY_PROBLEM = judged(PAIRS, *[n < limit for n in range(20) for limit in (4, 14, 14)])


def contrasts(told: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, dict[str, Any]]:
    items = scored_problems(told, verdicts).with_columns(family=pl.lit("f"))
    table = between_languages(items, JUDGED_CELL_KEYS, [])
    return {row["condition"]: row for row in table.filter(scope="model").to_dicts()}


def test_a_language_is_compared_with_english_on_the_same_problems() -> None:
    found = contrasts(PAIRS, BY_PROBLEM)
    assert found.keys() == {"de", "fr"}
    german = found["de"]
    assert (german["baseline"], german["n_items"], german["n_fall"]) == ("en", 20, 10)
    assert german["difference"] == pytest.approx(-0.5)
    assert german["p"] == pytest.approx(0.5**10)  # ten of ten the same way, twice by half
    assert german["p_adjusted"] == pytest.approx(2 * german["p"])  # Holm, two languages
    assert german["correction"] == "Holm"
    assert found["fr"]["difference"] == 0


def test_a_problem_that_is_unscored_in_one_language_is_not_tested_but_in_the_bounds() -> None:
    unscored = [
        None if (n, limit) == (0, 4) else n < limit for n in range(20) for limit in (4, 14, 14)
    ]
    german = contrasts(PAIRS, judged(PAIRS, *unscored))["de"]
    assert german["n_items"] == 19
    assert german["least_if_unscored"] < german["difference"] < german["most_if_unscored"]


def test_without_english_the_first_language_is_the_baseline() -> None:
    other = PAIRS.filter(pl.col("prompt_language") != "en")
    kept = BY_PROBLEM.join(other, on=TURN_KEYS, how="semi")
    assert {row["baseline"] for row in contrasts(other, kept).values()} == {"de"}


def test_accuracies_are_compared_on_the_same_problems() -> None:
    grades = graded(PAIRS, *[n < limit for n in range(20) for limit in (4, 14, 14)])
    items = graded_problems(PAIRS, grades).with_columns(family=pl.lit("f"))
    table = between_languages(items, ["model", "dataset"], [])
    german = table.filter(condition="de", scope="model").to_dicts()[0]
    assert german["difference"] == pytest.approx(-0.5)
    assert (german["judge"], german["n_items"]) == ("verifier", 20)


def test_a_judge_without_a_contrast_has_a_row_that_says_why() -> None:
    one = pl.DataFrame([{"judge": "a"}], schema=ADJUSTED_SCHEMA)
    found = add_missing_judges(one, {"b"}, ["a", "b", "c"])
    assert dict(found.select("judge", "reason").iter_rows()) == {
        "a": None,
        "b": ENGLISH_ONLY,
        "c": "no problem was scored in several languages",
    }
