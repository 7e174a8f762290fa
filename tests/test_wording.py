"""A number with its noun, a label with its name."""

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.judges.rubric import read_rubric
from userturn.wording import LABELS, label_name, name_labels, number_of, one_line_each, show_unseen


def test_one_is_singular_and_everything_else_plural() -> None:
    assert [number_of(n, "item") for n in (0, 1, 2, 1200)] == [
        "0 items", "1 item", "2 items", "1,200 items",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\u001b[31mred"),
        ("a\u202eb", r"a\u202eb"),
        ("caf\udce9", r"caf\udce9"),
        ("a\tb\nc", "a\tb\nc"),
        (
            "\U0001f469\u200d\U0001f680 \u2764\ufe0f é 漢",
            "\U0001f469\u200d\U0001f680 \u2764\ufe0f é 漢",
        ),
    ],
)
def test_only_what_shows_nothing_is_written_as_its_number(text: str, shown: str) -> None:
    assert show_unseen(text) == shown


def test_emoji_and_letters_of_any_script_stay() -> None:
    text = "\U0001f469\u200d\U0001f680 \u2764\ufe0f é 漢 ق"
    assert show_unseen(text) == text


def test_every_label_of_the_rubrics_has_a_name_and_another_label_its_words() -> None:
    rubrics = [read_rubric(ROOT / "data" / f"rubric{end}.yaml") for end in ("", "_2")]
    assert {label for rubric in rubrics for label in rubric.labels} == set(LABELS)
    assert label_name("off_topic") == "Off topic"


def test_a_text_names_labels_as_words_of_its_sentence() -> None:
    text = "take the first of prompt_restate, generic; not prompt_restated"
    named = "take the first of restated prompt, generic; not prompt_restated"
    assert name_labels(text, ["prompt_restate", "generic"]) == named


def test_paragraphs_and_items_of_a_list_are_a_line_each() -> None:
    text = "Decide by what\nis there.\n- One that\ngoes on.\n- Two."
    assert one_line_each(text) == "Decide by what is there.\n- One that goes on.\n- Two."
    assert one_line_each("One\nparagraph.\n\nAnother\none.") == "One paragraph.\n\nAnother one."
