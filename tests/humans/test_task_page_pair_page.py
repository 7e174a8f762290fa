"""The page of pairs, byte for byte: nothing in it tells which turn is whose."""

import json
import re

import polars as pl
import pytest

from tests.support.paired_study import pair_key, paired_of, people_of, turns_of
from userturn.humans.pairs import SIDES, shown_pairs
from userturn.humans.task_page import pair_page

TURNS = turns_of(12)
KEY = pair_key(paired_of(TURNS, n=12), 12)
ITEMS = shown_pairs(KEY, TURNS, people_of(12), ["<|im_end|>"])
PAGE = pair_page("pairs", ITEMS)


def items_of(page: str) -> list[dict[str, object]]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return list(json.loads(text)["items"])


def test_a_pair_is_an_id_a_conversation_and_two_texts() -> None:
    items = items_of(PAGE)
    assert [item["id"] for item in items] == KEY["id"].to_list()
    assert {tuple(item) for item in items} == {("id", "conversation", "turns")}


@pytest.mark.parametrize(
    "word", ["dataset", "temperature", "reference", "perturb", "a-1b", "im_end", "i0001"]
)
def test_no_byte_of_the_page_unblinds(word: str) -> None:
    assert word not in PAGE.lower().replace("an answer of the dataset", "")


def test_nothing_of_the_key_is_in_the_page() -> None:
    for column in ("key", "model", "conversation", "item"):
        assert not any(str(value) in PAGE for value in KEY[column].unique())


def test_the_page_of_swapped_turns_differs_in_their_places_alone() -> None:
    swapped = ITEMS.with_columns(turns=pl.col("turns").list.reverse())
    other = items_of(pair_page("pairs", swapped))
    before = items_of(PAGE)
    assert [item | {"turns": []} for item in other] == [item | {"turns": []} for item in before]
    hidden = re.compile(r'"turns":\[.*?\]')
    assert hidden.sub("", pair_page("pairs", swapped)) == hidden.sub("", PAGE)


def test_both_places_have_the_same_html_but_for_their_names() -> None:
    first, second = re.findall(r'<article class="turn".*?</article>', PAGE, re.S)[:2]
    assert first.replace("first", "second").replace("First", "Second").replace(">1<", ">2<") == (
        second
    )
    assert list(SIDES) == ["first", "second"]


def test_page_asks_the_network_for_nothing_and_fills_every_placeholder() -> None:
    assert not re.search(r"https?:|//[a-z]|src=|@import|\burl\(|href=", PAGE)
    assert "{{" not in PAGE
