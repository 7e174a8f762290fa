"""Refuse prompts that are too long for a model's context before they are sent."""

import re

from userturn.prompts.chat_template import Prompt, TemplateError


def tokens_needed(error: str) -> int | None:
    """Return the number of tokens that a prompt is too long with, if that is the error."""
    found = re.search(r"\bneed (\d+) tokens, max_model_len is", error)
    return int(found[1]) if found else None


def check_context_length(prompt: Prompt, max_tokens: int, max_model_len: int) -> None:
    """Refuse a prompt that leaves too little of the context for its continuation.

    Args:
        prompt: the prompt of one request.
        max_tokens: number of tokens that the model may write after it.
        max_model_len: the largest number of tokens in prompt and continuation together.

    Raises:
        TemplateError: prompt and continuation are longer than that.
    """
    n_tokens = len(prompt.token_ids) + max_tokens
    if n_tokens > max_model_len:
        raise TemplateError(
            f"prompt and continuation need {n_tokens} tokens, max_model_len is {max_model_len}"
        )
