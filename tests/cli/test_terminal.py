"""What commands print follows the width of the terminal, and its numbers are those of `--json`."""

import json
import math
from typing import Any

import polars as pl

from userturn.cli.terminal import (
    Bar,
    Sheet,
    as_json,
    as_text,
    draw_bar,
    number,
    prose,
    share,
)

RATES = Sheet(
    ("model", "genuine [95%]", "drawn", "note"),
    [
        ("smollm2-135m", "17.1% [10.1, 27.6]", Bar(0.171, 0.101, 0.276, 0.086), ""),
        ("a-model-with-a-long-name", "13.0% [7.0, 23.0]", Bar(0.13, 0.07, 0.23), ""),
    ],
    "genuine follow-ups",
    ("genuine [95%]",),
)


def test_an_interval_is_drawn_from_0_to_1_with_its_estimate_and_its_mark() -> None:
    # 11 columns are the shares 0, .1 ... 1
    assert draw_bar(Bar(0.5, 0.3, 0.8, 0.1), 11) == " | ──●───"
    assert draw_bar(Bar(1.0, 0.9, 1.0), 11) == " " * 9 + "─●"
    assert draw_bar(Bar(None, None, None), 11) == ""


def test_columns_take_what_they_need_and_one_without_content_is_left_out() -> None:
    title, heads, line, first, second = as_text([RATES], 100).splitlines()
    assert title == "genuine follow-ups" and set(line) == {"─"}
    assert heads.split("  ")[0] == "model" and "note" not in heads
    assert first.startswith("smollm2-135m              17.1% [10.1, 27.6]  ")
    assert "●" in first and "●" in second


def test_where_room_is_little_drawn_intervals_go_first_and_then_words_break() -> None:
    narrow = as_text([RATES], 46)
    assert "●" not in narrow and "a-model-with-a-long-name  " in narrow
    broken = as_text([RATES], 32)
    assert "a-model-wi" in broken and "17.1% [10.1, 27.6]" in broken
    told = " ".join(as_text([RATES], 20).split())
    assert "model smollm2-135m; genuine [95%] 17.1% [10.1, 27.6]" in told


def test_no_line_of_a_table_or_of_sentences_is_wider_than_the_terminal() -> None:
    for width in range(20, 140):
        lines = as_text([RATES, prose("Not a finding, the true rates are unknown.")], width)
        assert max(map(len, lines.splitlines())) <= width


def test_a_text_is_printed_as_it_is_whatever_the_width() -> None:
    command = "userturn audit results --tokenizer   --nonce 0123456789abcdef"
    assert as_text([command], 20) == command


def test_there_are_colours_where_they_are_wanted_alone_and_none_in_what_was_read() -> None:
    shown = [RATES, prose("a\x1b[31mb"), "c\x1b[31md"]
    assert "\x1b" not in as_text(shown, 80)
    assert "a\\u001b[31mb" in as_text(shown, 80) and "c\\u001b[31md" in as_text(shown, 80)
    assert "\x1b[1mgenuine follow-ups\x1b[0m" in as_text(shown, 80, in_colour=True)


def test_shares_and_numbers_have_their_limits_in_brackets_where_there_are_any() -> None:
    assert share(0.171, 0.101, 0.276) == "17.1% [10.1, 27.6]"
    assert share(0.5, None, None) == "50.0%" and share(None, 0.1, 0.2) == ""
    assert number(0.144, 0.09, 0.2) == "0.14 [0.09, 0.20]" and number(None) == ""


def test_numbers_for_a_program_are_frames_as_rows_and_nothing_that_json_lacks() -> None:
    numbers: dict[str, Any] = {
        "rates": pl.DataFrame({"model": ["m"], "estimate": [math.nan]}),
        "drawn": Bar(0.5, None, math.inf),
        "names": {"b", "a"},
        "unseen": "\u202e",
    }
    said = as_json(numbers)
    assert said.isascii()
    drawn = {"estimate": 0.5, "lower": None, "upper": None, "mark": None, "is_above": False}
    assert json.loads(said) == {
        "rates": [{"model": "m", "estimate": None}],
        "drawn": drawn,
        "names": ["a", "b"],
        "unseen": "\u202e",
    }
