"""What a reader cannot see is shown as what it is."""

import pytest

from userturn.wording import show_unseen


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
