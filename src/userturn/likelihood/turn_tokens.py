"""The token ids of a turn after a context, as the model's own chat template writes both."""

from collections.abc import Sequence
from typing import NamedTuple

from userturn.datasets.messages import Message
from userturn.likelihood.contexts import ASSISTANT_HEADER, PROMPT, Context
from userturn.prompts.chat_template import Template, TemplateError

REPLACEMENT = "\ufffd"  # what a decoder writes for a part of a character


class TurnTokens(NamedTuple):
    """A conversation in tokens, ending in a turn without its end-of-turn token.

    Attributes:
        token_ids: token ids of the context to the end of the header, then of the turn.
        n_context: number of the context's tokens.
    """

    token_ids: tuple[int, ...]
    n_context: int


def turn_tokens(template: Template, context: Context, turn: str) -> TurnTokens:
    """Return the tokens of a turn after a context, under the user's or the assistant's header.

    After the context `prompt` the turn is an answer, as the model begins one.

    White space at the ends of the turn is left out, as most templates do. The end-of-turn token is
    not scored, because stopping is not part of what was said.

    Raises:
        TemplateError: the template refuses the context, or the context's tokens are not a prefix of
            the whole.
    """
    history: list[Message] = [*context.prompt, {"role": "assistant", "content": context.answer}]
    if context.kind in (ASSISTANT_HEADER, PROMPT):
        said = history if context.kind == ASSISTANT_HEADER else [*context.prompt]
        literals, contents = template.split(said, add_generation_prompt=True)
        rest = ""
    else:
        literals, contents = template.probe_parts(context.prompt, context.answer)
        rest = template.left_to_the_model
    return _after(template, literals, contents, rest, turn.strip())


def _after(
    template: Template, literals: Sequence[str], contents: Sequence[str], rest: str, turn: str
) -> TurnTokens:
    shown = template.encoder.encode(literals, contents)
    whole = template.encoder.encode([*literals[:-1], literals[-1] + rest, ""], [*contents, turn])
    if whole[: len(shown)] != shown or len(whole) == len(shown):
        raise TemplateError(
            "the tokens of the context do not begin those of context and turn; leave that item out"
        )
    return TurnTokens(tuple(whole), len(shown))


def token_texts(template: Template, token_ids: Sequence[int]) -> list[str]:
    """Return the text that each token adds to those before it; joined, they are the whole text.

    A token that holds only a part of a character adds nothing; the last part adds the character.
    Each token is decoded after the one before it, since some tokenizers write white space between.
    """
    texts: list[str] = []
    start = shown = 0  # tokens from `start` on are decoded; those before `shown` were shown
    for end in range(1, len(token_ids) + 1):
        text = template.decode(token_ids[start:end])
        if text.endswith(REPLACEMENT) and end < len(token_ids):
            texts.append("")
            continue
        texts.append(text[len(template.decode(token_ids[start:shown])) :])
        start, shown = shown, end
    return texts
