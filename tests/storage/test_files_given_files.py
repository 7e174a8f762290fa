"""Files that a user gave are read, or refused in one sentence that names them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from userturn.errors import UserError
from userturn.storage.files import given_object, given_text


@pytest.mark.parametrize(
    ("content", "read", "said"),
    [
        (b"caf\xe9", given_text, "byte 3 is not UTF-8"),
        (b'{"a": ', given_object, "is not JSON"),
        (b"[1]", given_object, "holds a list, expected an object"),
        (b"[" * 100_000, given_object, "is not JSON"),
        (None, given_text, "cannot be read .No such file"),
    ],
)
def test_file_that_cannot_be_read_is_named_in_one_sentence(
    content: bytes | None, read: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "given.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=said) as refused:
        read(path)
    assert str(refused.value).startswith(f"'{path}'")
    assert "\n" not in str(refused.value)


def test_file_that_can_be_read_is_returned(tmp_path: Path) -> None:
    path = tmp_path / "given.json"
    path.write_text('{"a": "\u00e9"}', "utf-8")
    assert given_text(path) == '{"a": "\u00e9"}'
    assert given_object(path) == {"a": "\u00e9"}
