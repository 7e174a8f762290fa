"""What ends a turn: tokens, and texts where a template goes on in plain text without a token."""

from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import Any

from userturn.datasets.messages import Message
from userturn.prompts.examples import EXAMPLE, NEXT_USER
from userturn.prompts.render import Renderer
from userturn.prompts.template_text import shared_beginning
from userturn.prompts.tokenize import TemplateError

# Names of the end-of-document token; a model that writes one has finished.
ENDS_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<｜end▁of▁sentence｜>", "</s>", "<eos>")
INTERRUPTIONS = ("system", "tool")


def answer_ends(
    renderer: Renderer, end_of_sequence: Collection[int], has_special_opening: bool
) -> tuple[int, ...]:
    """Return the tokens that end an answer: the model's ends, and the end of an assistant turn.

    If the model writes its own message headers, as in harmony, or if the end of sequence follows
    another token, a turn may have several messages, and the token that ends each message does not
    end the answer.

    Args:
        renderer: the model's template.
        end_of_sequence: end tokens that the model's generation config names.
        has_special_opening: whether special tokens stand between generation prompt and answer.
    """
    eos = renderer.tokenizer.eos_token_id
    ends = {eos, *end_of_sequence} - {None}
    behind = _controls_after(renderer, [*EXAMPLE, NEXT_USER], -2)
    if not has_special_opening and eos not in behind:
        ends.update(behind[:1])
    return tuple(sorted(ends))


def turn_ends(renderer: Renderer) -> tuple[int, ...]:
    """Return the tokens with which the template itself continues after a user message.

    These are the first token after its text and the first of the generation prompt: the end of the
    turn, if it has one, and the beginning of the assistant's.
    """
    behind = _controls_after(renderer, EXAMPLE[:1], -1, add_generation_prompt=True)
    ending = _controls_after(renderer, EXAMPLE[:1], -1)
    return tuple(behind[:1] + _first_other(behind, ending))


def user_turn_stops(
    renderer: Renderer, end_token_ids: Collection[int], entry_stops: Collection[str]
) -> tuple[int, ...]:
    """Return the tokens that end a user turn.

    These are the answer's ends, what the template writes after a user message, how it begins
    messages, the known ends of a document, and the model entry's own.
    """
    stops: set[int | None] = {*end_token_ids, *turn_ends(renderer)}
    of_user = _controls_after(renderer, [*EXAMPLE, NEXT_USER], -2)
    stops.update(of_user[:2])
    for role in INTERRUPTIONS:
        message = {"role": role, "content": "Noted."}
        of_role = _controls_after(renderer, [*EXAMPLE, message], -2)
        stops.update(of_role[:1] + (_first_other(of_role, of_user) if role == "system" else []))
    stops.update(renderer.control_tokens.get(text) for text in ENDS_OF_TEXT)
    stops.update(added_tokens(renderer.tokenizer).get(text) for text in entry_stops)
    return tuple(sorted(i for i in stops if i is not None))


def _first_other(tokens: Sequence[int], others: Sequence[int]) -> list[int]:
    """Return a list of the first token that the others lack at its place, if there is one."""
    pairs = zip_longest(tokens, others)
    return next(([one] for one, other in pairs if one != other and one is not None), [])


def _controls_after(
    renderer: Renderer, messages: Sequence[Message], position: int, **settings: bool
) -> list[int]:
    """Return the control tokens in one of the template's texts, empty if it refuses messages."""
    tokens = renderer.encoder.find(_literal(renderer, messages, position, **settings))
    return [renderer.control_tokens[token] for token in tokens]


def added_tokens(tokenizer: Any) -> dict[str, int]:
    """Return the ids of the tokens that were added to the vocabulary, by text."""
    return {token.content: i for i, token in tokenizer.added_tokens_decoder.items()}


def plain_beginning(renderer: Renderer, literal: str) -> str:
    """Return the first line of a template's text before any control token, or "".

    A line break or else a space before that line is kept, because `A:` at the beginning of a line
    ends a turn, and `Option A: 4` does not.
    """
    controls = renderer.encoder.find(literal)
    plain = literal[: literal.index(controls[0])] if controls else literal
    text = next(iter(plain.strip().splitlines()), "").strip()
    if not text:
        return ""
    before = plain[: plain.index(text)]
    return before[before.rfind("\n") :] + text if "\n" in before else before[-1:] + text


def answer_end_texts(renderer: Renderer) -> tuple[str, ...]:
    """Return the plain texts that follow an answer and so end it, without any round number."""
    rounds = ([*EXAMPLE, NEXT_USER], [*EXAMPLE, *EXAMPLE, NEXT_USER])
    texts = [plain_beginning(renderer, _literal(renderer, messages, -2)) for messages in rounds]
    shared = shared_beginning(*texts) if all(texts) else texts[0]
    return (shared,) if shared.strip() else ()


def user_turn_stop_texts(
    renderer: Renderer, end_texts: Collection[str], entry_stops: Collection[str]
) -> tuple[str, ...]:
    """Return the texts that end a user turn: those that follow a message, and the entry's stops."""
    behind = (
        _literal(renderer, EXAMPLE[:1], -1, add_generation_prompt=True),
        _literal(renderer, [*EXAMPLE, NEXT_USER], 1),
    )
    texts = {plain_beginning(renderer, literal) for literal in behind}
    texts.update(end_texts)
    texts.update(set(entry_stops) - set(added_tokens(renderer.tokenizer)))
    texts.discard("")
    return tuple(sorted(t for t in texts if not any(o in t for o in texts - {t})))


def _literal(
    renderer: Renderer,
    messages: Sequence[Message],
    position: int,
    add_generation_prompt: bool = False,
) -> str:
    """Return one of the template's texts, or "" if it refuses the conversation."""
    try:
        return renderer.literals(messages, add_generation_prompt)[position]
    except TemplateError:
        return ""
