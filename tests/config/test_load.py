"""Configuration files that cannot be read are one sentence each, and lose nothing."""

from itertools import pairwise
from pathlib import Path

import pytest

from userturn.config.load import load_config
from userturn.errors import ConfigError

NAMES = "abcdefghijklmnopqrstu"  # the last stands for 2 ** 21 letters
BOMB = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}]\n" for old, new in pairwise(NAMES)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("samples: 1\n".encode("utf-16"), "byte 0 is not UTF-8"),
        ("# caf\u00e9\n".encode("latin-1"), "byte 5 is not UTF-8"),
        (b"models:\n  a: x\n  b: y\n  a: z\n", "line 4: not YAML .the key 'a' is given twice"),
        (b"a: &a\n  b: *a\n", "an anchor contains itself"),
        (b"- a\n", "holds a list, expected keys"),
        (b"# all is commented out\n", "holds nothing, expected keys"),
        (b"a: [1\n", "line 2: not YAML"),
        (b"a: 2020-02-03\n", "line 1: not YAML .a timestamp, expected text.* quote the value"),
        (b"a: 1\nb: !!binary aGk=\n", "line 2: not YAML .a binary, expected text"),
        (b"a: -.inf\n", "line 1: not YAML .the number -inf is not finite"),
        (b"a: !!set {x, y}\n", "line 1: not YAML .a set, expected text"),
        (b"a: !!int x\n", "not YAML .invalid literal for int"),
        (
            b"runtime: 1:30:00\n",
            "line 1: not YAML .1:30:00 means 5400 in YAML, expected that number",
        ),
        (b"a: 0\nseed: 010\n", "line 2: not YAML .010 means 8 in YAML"),
        (b"models: {no: x}\n", "line 1: not YAML .the key no is False, expected text; quote it"),
        (b"models:\n  1.10: x\n", "line 2: not YAML .the key 1.10 is 1.1, expected text"),
        (b"answer:\n\tmax_tokens: 12\n", "line 2: not YAML .a tab, expected spaces"),
        (b"seed:3\n", "holds a text, expected keys"),
        (b"a: \0\n", "not YAML .unacceptable character"),
        (b"a: " + b"[" * 5000, "nested too deeply"),
        (b"__use_yte__: true\na: ?1 / 0\n", "found '__use_yte__', expected plain YAML"),
        (BOMB.encode(), "its anchors stand for over 1000000 values"),
    ],
)
def test_file_that_cannot_be_read_is_refused_in_one_sentence(
    content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=said) as refused:
        load_config([path])
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'.*none.yaml' does not exist"):
        load_config([tmp_path / "none.yaml"])


def test_anchors_merge_keys_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("\ufeffa: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a, *a]\n", "utf-8")
    a = {"x": 1, "y": 2}
    assert load_config([path]) == {"a": a, "b": {"x": 1, "y": 3}, "c": [a, a]}


def test_what_a_hundred_anchors_name_is_read(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("a: &a [x, x]\nb: [" + "*a," * 100 + "]\n")
    assert load_config([path])["b"] == [["x", "x"]] * 100
