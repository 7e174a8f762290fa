"""Family and size are read from a model's name, unless its entry says otherwise."""

import pytest

from userturn.config.families import baselines, families, family, size


@pytest.mark.parametrize(
    ("name", "expected_family", "expected_size"),
    [
        ("qwen3.5-0.8b", "qwen3.5", (0.8, 0.8)),
        ("qwen3.5-35b-a3b", "qwen3.5", (35, 3)),
        ("qwen3.5-397b-a17b", "qwen3.5", (397, 17)),
        ("gpt-oss-20b", "gpt-oss", (20, 20)),
        ("gpt-oss-120b", "gpt-oss", (120, 120)),
        ("glm-4.7", "glm", (None, None)),
        ("smollm2-135m", "smollm2", (0.135, 0.135)),
        ("tiny", "tiny", (None, None)),
        ("qwen3.5-2b-sft", "qwen3.5", (2, 2)),
    ],
)
def test_name_holds_family_and_size(
    name: str, expected_family: str, expected_size: tuple[float | None, float | None]
) -> None:
    assert (family(name), size(name)) == (expected_family, expected_size)


def test_line_wins_over_the_name_and_order_is_family_then_size() -> None:
    entries = {"b-7b": {}, "b-0.5b": {}, "mine": {"family": "a", "size": "35b-a3b"}, "b": {}}
    assert families(entries) == [
        ("mine", "a", 35.0, 3.0),
        ("b-0.5b", "b", 0.5, 0.5),
        ("b-7b", "b", 7.0, 7.0),
        ("b", "b", None, None),
    ]


def test_model_trained_from_a_trained_one_has_both_as_baselines() -> None:
    entries = {"m": {}, "m-sft": {"base": "m"}, "m-rl": {"base": "m-sft"}, "n-sft": {"base": "n"}}
    assert baselines(entries, entries) == [("m-rl", "m-sft"), ("m-rl", "m"), ("m-sft", "m")]
    run = {name: entries[name] for name in ("m", "m-rl")}  # the one between is not of the run
    assert baselines(run, entries) == [("m-rl", "m")]
