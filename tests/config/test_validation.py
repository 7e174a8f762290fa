"""What is plainly a number is taken as one, and nothing else."""

import pytest

from userturn.config.validation import check_values, plain_number, take_plain_numbers
from userturn.errors import ConfigError

SCHEMA = {
    "properties": {
        "samples": {"type": "integer"},
        "temperatures": {"type": "array", "items": {"type": "number"}},
        "max_cost": {"type": ["number", "null"]},
        "today": {"type": "string"},
    }
}


@pytest.mark.parametrize(
    ("value", "kind", "taken"),
    [
        ("1.0", "number", 1.0),
        ("1e0", "number", 1.0),
        ("-2.5E-1", "number", -0.25),
        ("7", "number", 7),
        ("12", "integer", 12),
        ("12e0", "integer", 12),
        (12.0, "integer", 12),
        (12.5, "integer", None),
        ("12.5", "integer", None),
        ("1_000", "integer", None),
        ("4k", "integer", None),
        ("nan", "number", None),
        ("1e999", "number", None),
        ("", "number", None),
        (True, "integer", None),
        ([1], "number", None),
    ],
)
def test_what_is_plainly_a_number_is_one(value: object, kind: str, taken: float | None) -> None:
    number = plain_number(value, kind)
    assert (number, type(number)) == (taken, type(taken))


def test_numbers_are_taken_where_the_schema_wants_them_and_nowhere_else() -> None:
    config = {"samples": 2.0, "temperatures": ["1e0", 0, "hot"], "max_cost": None, "today": "1.0"}
    take_plain_numbers(config, SCHEMA)
    assert config["samples"] == 2 and isinstance(config["samples"], int)
    assert config["temperatures"] == [1.0, 0, "hot"]
    assert (config["max_cost"], config["today"]) == (None, "1.0")


def test_nearest_of_the_values_that_a_key_takes_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^engine: .*one of: vllm, other, did you mean 'vllm'"):
        check_values({"engine": "vlm"}, {"properties": {"engine": {"enum": ["vllm", "other"]}}})
    with pytest.raises(ConfigError, match=r"^models: found 'tiny', expected a list .* \[tiny\]$"):
        check_values({"models": "tiny"}, {"properties": {"models": {"type": "array"}}})
