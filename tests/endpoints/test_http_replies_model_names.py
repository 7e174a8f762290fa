"""A dated snapshot of a model is that model; another size, another date or another name is not."""

import pytest

from userturn.endpoints.http_replies import is_other_model

SAME = [
    ("gpt-5.4-mini", "gpt-5.4-mini-2026-03-17"),
    ("gpt-5.4-mini", "openai/gpt-5.4-mini"),
    ("openai/gpt-5.4-mini", "openai/gpt-5.4-mini-2026-03-17"),
    ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
    ("claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219"),
    ("models/gemini-2.0-flash", "gemini-2.0-flash-001"),
    ("qwen/qwen3-32b:free", "qwen/qwen3-32b"),
    ("Qwen/Qwen3.5-27B", "qwen/qwen3.5-27b"),
]
OTHER = [
    ("gpt-5.4", "gpt-5.4-mini"),
    ("gpt-5.4-mini", "gpt-5.4-nano-2026-03-17"),
    ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
    ("Qwen/Qwen3.5-27B", "Qwen/Qwen3.5-4B"),
    ("m", "n"),
]


@pytest.mark.parametrize(("asked", "answered"), SAME)
def test_snapshot_vendor_and_tier_are_the_same_model(asked: str, answered: str) -> None:
    assert not is_other_model(asked, answered)


@pytest.mark.parametrize(("asked", "answered"), OTHER)
def test_another_name_size_or_date_is_another_model(asked: str, answered: str) -> None:
    assert is_other_model(asked, answered)
