"""A format that would change nothing is refused, so that no contrast compares a model to itself."""

from dataclasses import replace

import pytest

from tests.support.chat_formats import all_formats
from userturn.prompts.format_checks import prove_format
from userturn.prompts.tokenize import TemplateError

FORMATS = {one.name: one for one in all_formats()}


def test_format_that_changes_no_prompt_is_refused() -> None:
    template = FORMATS["gemma 3"].made()
    with pytest.raises(TemplateError, match="changes no prompt"):
        prove_format(replace(template, system=""), template)


def test_format_that_changes_the_prompts_is_proven() -> None:
    template = FORMATS["qwen 1.5"].made()
    assert prove_format(replace(template, system=""), template) == "the format changes the prompts"


def test_system_prompt_with_a_control_token_is_refused() -> None:
    template = FORMATS["qwen 1.5"].made()
    with pytest.raises(TemplateError, match=r"<\|im_end\|>"):
        prove_format(replace(template, system="Stop.<|im_end|>"), template)
