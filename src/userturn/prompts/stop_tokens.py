"""Tokens that end a turn, from the model's files and from its chat template."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from userturn.datasets.messages import Message
from userturn.prompts.examples import EXAMPLE, NEXT_USER
from userturn.prompts.tokenize import TemplateError

if TYPE_CHECKING:
    from userturn.prompts.chat_template import Template

# Names of the end-of-document token; a model that writes one has finished.
ENDS_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "</s>", "<eos>")
INTERRUPTIONS = ("system", "tool")


def answer_ends(template: "Template") -> tuple[int, ...]:
    """Return the tokens that end an answer: the model's ends, and the end of an assistant turn.

    If the model writes its own message headers, as in harmony, or if the end of sequence follows
    another token, a turn may have several messages, and the token that ends each message does not
    end the answer.
    """
    eos = template.tokenizer.eos_token_id
    ends = {eos, *template.end_of_sequence} - {None}
    behind = _controls_after(template, [*EXAMPLE, NEXT_USER], -2)
    if not template.answer_form.has_special_opening and eos not in behind:
        ends.update(behind[:1])
    return tuple(sorted(ends))


def turn_ends(template: "Template") -> tuple[int, ...]:
    """Return the tokens with which the template itself continues after a user message.

    These are the first token after its text and the first of the generation prompt: the end of the
    turn, if it has one, and the beginning of the assistant's.
    """
    behind = _controls_after(template, EXAMPLE[:1], -1, add_generation_prompt=True)
    ending = _controls_after(template, EXAMPLE[:1], -1)
    return tuple(behind[:1] + _first_other(behind, ending))


def user_turn_stops(template: "Template") -> tuple[int, ...]:
    """Return the tokens that end a user turn.

    These are the answer's ends, what the template writes after a user message, how it begins
    the other roles' messages, and the model entry's own.
    """
    stops: set[int | None] = {*answer_ends(template), *turn_ends(template)}
    of_user = _controls_after(template, [*EXAMPLE, NEXT_USER], -2)
    stops.update(of_user[:2])
    for role in INTERRUPTIONS:
        message = {"role": role, "content": "Noted."}
        of_role = _controls_after(template, [*EXAMPLE, message], -2)
        stops.update(of_role[:1] + (_first_other(of_role, of_user) if role == "system" else []))
    stops.update(template.control_tokens.get(text) for text in ENDS_OF_TEXT)
    stops.update(added_tokens(template.tokenizer).get(text) for text in template.stop)
    return tuple(sorted(i for i in stops if i is not None))


def _first_other(tokens: Sequence[int], others: Sequence[int]) -> list[int]:
    """Return the first token at whose place the others have none or another, if there is one."""
    pairs = zip_longest(tokens, others)
    return next(([one] for one, other in pairs if one != other and one is not None), [])


def _controls_after(
    template: "Template",
    messages: Sequence[Message],
    position: int,
    add_generation_prompt: bool = False,
) -> list[int]:
    """Return the control tokens in one of the template's texts; none if it refuses the messages."""
    try:
        literal = template.literals(messages, add_generation_prompt)[position]
    except TemplateError:
        return []
    return [template.control_tokens[token] for token in template.encoder.find(literal)]


def added_tokens(tokenizer: Any) -> dict[str, int]:
    """Return the ids of the tokens that were added to the vocabulary, by text."""
    return {token.content: i for i, token in tokenizer.added_tokens_decoder.items()}
