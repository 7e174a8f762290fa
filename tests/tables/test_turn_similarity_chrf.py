"""Distance of turns to what a person said there, beside what another person said elsewhere."""

from typing import Any

import polars as pl
import pytest

from userturn.tables.turn_similarity import LIMITS_OF_CHRF, People, chrf, distance, people_of

USER, ANSWER = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}


def items(*rows: tuple[str, str | None, bool]) -> pl.DataFrame:
    """Return items with what a person said, after an answer to the item or to something else."""
    other = {"role": "user", "content": "Something else"}
    return pl.DataFrame(
        [
            {
                "item": item,
                "messages": [USER],
                "reference_context": [USER if answers else other, ANSWER],
                "reference_user_turn": said,
            }
            for item, said, answers in rows
        ]
    )


def test_a_person_is_held_against_one_of_another_conversation() -> None:
    table = items(
        ("a/turn-1", "Why?", True),
        ("a/turn-2", "How so?", True),
        ("b", " When? ", True),
        ("c", None, True),
        ("d", "Where?", False),  # said after something else
    )
    found = people_of(table, "d", 0)
    assert {item: people.there for item, people in found.items()} == {
        "a/turn-1": "Why?",
        "a/turn-2": "How so?",
        "b": "When?",
    }
    assert found["a/turn-1"].elsewhere == found["a/turn-2"].elsewhere == "When?"
    assert found["b"].elsewhere in ("Why?", "How so?")


def test_one_person_alone_is_held_against_nobody() -> None:
    assert people_of(items(("a", "Why?", True)), "d", 0) == {}


def cell(*said: str | None) -> pl.DataFrame:
    names = [str(i) for i in range(len(said))]
    rows: dict[str, Any] = {"item": names, "cluster": names, "said": list(said)}
    return pl.DataFrame(rows, schema_overrides={"said": pl.String})


def test_means_are_over_turns_with_text_whose_person_is_known() -> None:
    people = {"0": People("Why so?", "When?"), "1": People("And dogs?", "Why so?")}
    row = distance(cell("Why?", "And dogs?", "No person here"), people | {"3": people["0"]})
    assert set(row) == {"n_compared", *LIMITS_OF_CHRF}
    there, elsewhere = (chrf("Why?", "Why so?"), 100.0), (chrf("Why?", "When?"), 0.0)
    elsewhere = (elsewhere[0], chrf("And dogs?", "Why so?"))
    assert row["n_compared"] == 2
    assert row["chrf"] == pytest.approx(sum(there) / 2)
    assert row["chrf_unrelated"] == pytest.approx(sum(elsewhere) / 2)
    assert row["chrf_above"] == pytest.approx((sum(there) - sum(elsewhere)) / 2)


def test_without_a_person_there_is_no_distance() -> None:
    row = distance(cell("Why?", None), {})
    assert row == {"n_compared": 0} | dict.fromkeys(LIMITS_OF_CHRF)


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        (
            "Do the black cats sleep at night?",
            "Where do the black cats sleep when it rains?",
            52.175296471582136,
        ),
        ("Why?", "Why so?", 35.71925431274346),
        ("ab", "Where do cats sleep?", 3.571428571428572),
        ("xyz", "abc def ghi jkl", 0.0),
        ("And what about dogs?", "And what about dogs?", 100.0),
        ("Où dorment les chats noirs ?", "Les chats noirs dorment où ?", 68.81673056158182),
        ("猫はどこですか", "犬はどこにいますか", 18.79627212007378),
    ],
)
def test_scores_are_those_of_sacrebleu(text: str, reference: str, score: float) -> None:
    # Version 2.6.0: `CHRF().sentence_score(text, [reference]).score`.
    assert chrf(text, reference) == pytest.approx(score, abs=1e-9)


def test_white_space_alone_shares_nothing() -> None:
    assert chrf(" \n", "Why?") == chrf("Why?", "") == 0
