"""What turns are like: each property of a made-up cell, by hand."""

from typing import Any

import polars as pl
import pytest

from tests.support.whole_study import inputs_in, whole_grid, write_whole_study
from userturn.stats.proportions import wilson
from userturn.tables.make_tables import Material
from userturn.tables.turn_properties import COLUMNS, SCHEMA, WORD, Before, properties, table

SAID = Before({str(i): ["Where do the black cats sleep?"] for i in range(6)}, {})
KINDS = {"sample": pl.Int64, "n_tokens": pl.UInt32, "text": pl.String}
TEXTS = [
    "Do the black cats sleep at night?",
    "  Do the black cats sleep at night?\n",  # another item's turn but for white space
    "Do the black cats sleep at night ?!",  # nearly
    "And where do your two dogs live?",
    "",
    None,
]


def cell(texts: list[str | None], **more: Any) -> pl.DataFrame:
    rows = [
        {
            **{"model": "m", "dataset": "d", "temperature": 0.0, "perturbation": "none"},
            **{"item": str(i), "sample": 0, "text": text, "n_tokens": 8},
            "outcome": "error" if text is None else "ok" if text else "empty",
            "finish_reason": None if text is None else "stop",
            **more,
        }
        for i, text in enumerate(texts)
    ]
    return pl.DataFrame(rows, schema_overrides=KINDS).select(COLUMNS)


def test_copies_are_of_other_items_and_only_of_turns_with_text() -> None:
    row = properties(cell(TEXTS), SAID)
    assert (row["n_turns"], row["n_ok"], row["n_error"], row["n_items"]) == (6, 4, 1, 6)
    assert (row["n_copies"], row["n_distinct"]) == (2, 3)
    limits = row["exact_copies"], row["exact_copies_lower"], row["exact_copies_upper"]
    assert limits == pytest.approx(wilson(2, 4))
    assert row["near_copies"] == 3 / 4


def test_samples_of_one_item_are_no_copies_of_each_other() -> None:
    twice = cell([TEXTS[0], TEXTS[0]]).with_columns(item=pl.lit("0"), sample=pl.Series([0, 1]))
    row = properties(twice, SAID)
    assert (row["n_copies"], row["near_copies"], row["n_items"]) == (0, 0, 1)


def test_near_copies_are_those_that_comparing_every_pair_finds() -> None:
    words = ["how", "can", "one", "keep", "bread", "from", "the", "oven", "warm", "until", "six"]
    own = [f"{i * i} {'ab'[i % 2] * (i % 7)}" for i in range(60)]
    said = [" ".join([*words[: i % 13], own[i], *words[i % 5 :]]) for i in range(60)]
    row = properties(cell([*said]), Before({str(i): [] for i in range(60)}, {}))

    def grams(text: str) -> set[str]:
        return {text[i : i + 5] for i in range(max(1, len(text) - 4))}

    sets = [grams(" ".join(text.split())) for text in said]
    near = [
        any(len(a & b) / len(a | b) >= 0.8 for j, b in enumerate(sets) if j != i)
        for i, a in enumerate(sets)
    ]
    assert row["near_copies"] == sum(near) / 60
    assert 0 < sum(near) < 60


def test_endings_are_shares_of_turns_that_did_not_fail() -> None:
    turns = cell(TEXTS).with_columns(
        finish_reason=pl.when(pl.col("item") == "3")
        .then(pl.lit("length"))
        .otherwise("finish_reason")
    )
    row = properties(turns, SAID)
    assert (row["ends_at_once"], row["cut"]) == (1 / 5, 1 / 5)


def test_words_and_what_they_repeat_of_the_prompt_are_means_over_turns_with_text() -> None:
    # Seven words each; of the five triples of the first three turns three are the prompt's: do the
    # black, the black cats, black cats sleep. Of the fourth one none is.
    row = properties(cell(TEXTS), SAID)
    assert (row["words"], row["tokens"], row["n_words"]) == (7, 8, 28)
    assert row["repeats_prompt"] == pytest.approx((3 / 5 + 3 / 5 + 3 / 5 + 0) / 4)


def test_different_words_and_pairs_are_counted_over_the_cell() -> None:
    row = properties(cell(["A cat is a cat.", "Is a cat?"]), SAID)
    # a cat is a cat, is a cat: 3 of 8; a-cat cat-is is-a a-cat, is-a a-cat: 3 of 6.
    assert (row["distinct_1"], row["distinct_2"]) == (3 / 8, 3 / 6)
    # Yule's K: 10,000 (3² + 3² + 2² - 8) / 8².
    assert row["yules_k"] == pytest.approx(1e4 * 14 / 64)
    assert (row["mattr"], row["hdd"]) == (None, None)  # fewer words than a window, and a draw


def test_language_is_that_of_most_turns() -> None:
    french = "Où est-ce que les chats noirs dorment pendant la nuit ?"
    row = properties(cell([TEXTS[0], TEXTS[3], french, "?"]), SAID)
    assert (row["language"], row["n_told"], row["in_language"]) == ("en", 3, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It’s 3.5 o'clock, isn't it?", ["it's", "3", "5", "o'clock", "isn't", "it"]),
        ("猫はどこ?", ["猫", "は", "ど", "こ"]),  # each sign is a word
        ("बिल्ली कहाँ है?", ["बिल्ली", "कहाँ", "है"]),
    ],
)
def test_words_stand_between_spaces_and_signs(text: str, words: list[str]) -> None:
    lower = pl.Series([text]).str.to_lowercase().str.replace_all("’", "'")
    assert lower.str.extract_all(WORD).to_list() == [words]


def test_a_cell_without_text_has_a_reason_and_nothing_that_is_no_number() -> None:
    row = properties(cell([None, ""]), SAID)
    assert row["reason"] == "no turn has text"
    assert (row["near_copies"], row["distinct_1"], row["words"]) == (None, None, None)


def test_peoples_turns_stand_beside_those_of_models(tmp_path: Any) -> None:
    write_whole_study(tmp_path)
    found = table(Material(whole_grid(), inputs_in(tmp_path)))
    assert dict(found.schema) == dict(SCHEMA)
    (people,) = found.filter(model="human").to_dicts()
    assert (people["dataset"], people["temperature"], people["cut"]) == ("talks", None, None)
    assert people["words"] == 3  # Does ... too?
    # They are not compared with themselves, but with turns of other conversations.
    assert (people["chrf"], people["chrf_above"]) == (None, None)
    assert 0 < people["chrf_unrelated"] < 100
    of_models = found.filter(pl.col("model") != "human")
    assert of_models["n_distinct"].to_list() == [10] * of_models.height  # by an item's last digit
