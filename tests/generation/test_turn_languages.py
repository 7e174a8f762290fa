"""The languages of prompt, answer and turn are stored for each turn, or why they cannot be told."""

import polars as pl

from userturn.datasets.language import EMPTY, TOO_SHORT
from userturn.generation.turn_languages import FAILED, LANGUAGES_SCHEMA, turn_languages
from userturn.storage.table_files import TURN_COLUMNS

GERMAN = "Lina hat jetzt sechs Äpfel und zwei Birnen im Korb."
ENGLISH = "Lina has six apples and two pears in her basket now."


def prompt(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


ITEMS = pl.DataFrame(
    {
        "item": ["a", "b"],
        "problem": ["1", None],
        "messages": [prompt("Wie viele?"), prompt("Hm?")],
        "language": ["de", None],
    },
    schema_overrides={"problem": pl.String},
)
ANSWERS = pl.DataFrame({"item": ["a", "b"], "answer": [ENGLISH, "18"], "outcome": ["ok", "ok"]})


def told(item: str, shown: str | None, turn: str | None, outcome: str = "ok") -> dict:
    keys = {"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none", "sample": 0}
    rows = [keys | {"item": item, "answer": shown, "text": turn, "outcome": outcome}]
    kinds = {**TURN_COLUMNS, **dict.fromkeys(("answer", "text", "outcome"), pl.String)}
    table = turn_languages(pl.DataFrame(rows, schema=kinds), ANSWERS, ITEMS)
    assert table.schema == LANGUAGES_SCHEMA
    return table.row(0, named=True)


def test_an_answer_and_a_turn_in_another_language_than_the_prompt_are_marked() -> None:
    row = told("a", ENGLISH, ENGLISH)
    assert (row["prompt_language"], row["answer_language"], row["turn_language"]) == (
        *("de", "en", "en"),
    )
    assert (row["answered_in_another"], row["turned_in_another"]) == (True, True)
    assert row["turned_unlike_answer"] is False
    assert row["problem"] == "1"


def test_a_turn_is_compared_with_the_answer_that_it_follows_not_with_the_models_own() -> None:
    row = told("a", GERMAN, GERMAN)  # as after a perturbation
    assert (row["answer_language"], row["shown_language"]) == ("en", "de")
    assert row["turned_in_another"] is row["turned_unlike_answer"] is False
    assert row["answered_in_another"] is True


def test_what_has_no_language_is_null_with_a_reason_and_in_no_comparison() -> None:
    row = told("b", "", "Ok")
    reasons = [row[f"{what}_reason"] for what in ("prompt", "answer", "shown", "turn")]
    assert reasons == [TOO_SHORT, TOO_SHORT, EMPTY, TOO_SHORT]
    assert [row[name] for name in list(LANGUAGES_SCHEMA)[-3:]] == [None] * 3


def test_a_failed_request_has_no_language_because_it_failed() -> None:
    assert told("a", ENGLISH, None, "error")["turn_reason"] == FAILED
