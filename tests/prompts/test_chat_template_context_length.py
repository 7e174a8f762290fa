"""A prompt and its continuation fit into the context, or are refused with both numbers."""

import pytest

from userturn.prompts.chat_template import Prompt, TemplateError, check_context_length

PROMPT = Prompt("five tokens", (1, 2, 3, 4, 5))


def test_prompt_that_just_fits_is_taken() -> None:
    check_context_length(PROMPT, max_tokens=3, max_model_len=8)


def test_prompt_that_is_a_token_too_long_is_refused() -> None:
    with pytest.raises(TemplateError, match="need 9 tokens, max_model_len is 8"):
        check_context_length(PROMPT, max_tokens=4, max_model_len=8)
