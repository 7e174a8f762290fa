"""A number with its noun."""

import pytest

from userturn.wording import number_of, show_unseen


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
