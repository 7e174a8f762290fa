"""The system prompt that a template writes itself, and conversations without it."""

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from userturn.prompts.examples import EXAMPLE
from userturn.prompts.tokenize import Encoder, TemplateError

if TYPE_CHECKING:
    from userturn.prompts.render import Renderer

CANNOT = "`system: none` cannot be done with this chat template"
LEAVE_OUT = "leave the model out of that format with `models`"
SYSTEM = "sys"  # in the name of a control token that begins a system message


class OwnSystem(NamedTuple):
    """How a template begins a conversation that brings no system message.

    Attributes:
        opening: what stays, such as the token that begins a text.
        prompt: the template's own system prompt, empty if it writes none.
    """

    opening: str
    prompt: str

    def left_out(self, text: str) -> str:
        """Return a rendered conversation without the template's own system prompt.

        Raises:
            TemplateError: the conversation begins in another way.
        """
        begin = self.opening + self.prompt
        if not text.startswith(begin):
            raise TemplateError(
                f"{CANNOT}: before this conversation it writes another system prompt than "
                f"{self.prompt!r}; leave that item out"
            )
        return self.opening + text[len(begin) :]


def own_system(renderer: "Renderer") -> OwnSystem:
    """Return what a template writes before a first user message, without its user header.

    A system turn without words, as some templates always write one, is no system prompt.

    Raises:
        TemplateError: nothing says where the system prompt ends and the user header begins.
    """
    encoder = renderer.encoder
    question, after_question, between, _ = renderer.literals([*EXAMPLE, EXAMPLE[0]])
    opening = _opening(encoder, question, after_question + between)
    first = question.removeprefix(opening)
    header = _from_the_same_token(encoder, first, between) or _after_ends(
        _shared_end(encoder, first, between), _ends(renderer, after_question)
    )
    before = question.removesuffix(header)
    prompt = before.removeprefix(opening)
    if not _has_words(encoder, prompt):
        prompt, opening = "", before
    # Behind another token than that of a text's beginning, plain text may belong to that token.
    is_bound = prompt[:1].strip() and not any(map(prompt.startswith, encoder.find(prompt)[:1]))
    if not header.strip() or (is_bound and opening not in ("", renderer.tokenizer.bos_token)):
        raise TemplateError(
            f"{CANNOT}: it writes {question!r} before a first user message and {between!r} before "
            "a later one, so that nothing says where its system prompt begins and ends; "
            f"{LEAVE_OUT}"
        )
    return OwnSystem(opening, prompt)


def _has_words(encoder: Encoder, prompt: str) -> bool:
    """Return whether a system prompt has more words than the names of its turns' roles."""
    controls, words = encoder.find(prompt), prompt
    for token in controls:
        words = words.replace(token, " ")
    return len(words.split()) > len(controls)


def _opening(encoder: Encoder, first: str, later: str) -> str:
    """Return the control tokens that begin every conversation and no message."""
    opening = ""
    for token in encoder.find(first):
        if not first.startswith(opening + token) or token in later or SYSTEM in token.lower():
            break
        opening += token
    return opening


def _shared_end(encoder: Encoder, first: str, between: str) -> str:
    """Return the longest end that two texts share, without a part of a control token."""
    pairs = zip(reversed(first), reversed(between), strict=False)
    n_shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    shared = between[len(between) - n_shared :]
    start, place = len(between) - len(shared), 0
    for token in encoder.find(between):
        place = between.index(token, place) + len(token)
        if place - len(token) < start < place:
            return between[place:]
    return shared


def _from_the_same_token(encoder: Encoder, first: str, between: str) -> str:
    """Return the header where the system's and the user's turns begin with one and the same token.

    It is empty where they do not.
    """
    token = next((token for token in encoder.find(first)[:1] if first.startswith(token)), None)
    shared = _shared_end(encoder, first, between)
    return shared[shared.rindex(token) :] if token and token in shared else ""


def _ends(renderer: "Renderer", after_question: str) -> set[str]:
    """Return texts that end a turn, and so a system prompt: no header begins with one."""
    tokens = renderer.encoder.find(after_question)[:1]
    written = [renderer.literals(said)[-1].strip() for said in (EXAMPLE, EXAMPLE[:1])]
    return {text for text in (*tokens, *written, renderer.tokenizer.eos_token) if text}


def _after_ends(shared: str, ends: set[str]) -> str:
    """Return a text without what ends the turn before it."""
    header = shared.lstrip()
    while end := next((text for text in sorted(ends) if header.startswith(text)), None):
        header = header.removeprefix(end).lstrip()
    return header
