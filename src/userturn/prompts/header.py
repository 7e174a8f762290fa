"""The user header: the text between an answer and the user's turn, and how much of it is shown.

If the header ends in text that a tokenizer joins to the message's first word, such as a space, no
real conversation contains the tokens of the whole header. Its end is then left to the model.
"""

from collections.abc import Sequence

from userturn.prompts.tokenize import Encoder, TemplateError

NO_HEADER = "so nothing says that the user speaks; such a model has no user header, leave it out"


def check_names_the_user(literals: Sequence[str], after_answer: str | None) -> None:
    """Raise an error if the text that the template writes before a user message names no user.

    Args:
        literals: the template's texts around a question, an answer and a next user message.
        after_answer: its text after the answer if nothing follows; None if it refuses that.

    Raises:
        TemplateError: the text is blank, the same as before an answer, or the answer's own end.
    """
    derived = literals[-2]
    if not derived.strip() or literals[-3:-2] == [derived]:
        raise TemplateError(
            f"the chat template writes {derived!r} before every message, {NO_HEADER}"
        )
    if not after_answer or not after_answer.strip() or not derived.startswith(after_answer):
        return
    first = literals[0].strip()
    if not derived.removeprefix(after_answer).strip() and not (
        first and derived.rstrip().endswith(first.splitlines()[-1])
    ):
        raise TemplateError(
            f"the chat template writes {derived!r} after every answer and nothing more before a "
            f"user message, {NO_HEADER}"
        )


def choose_header(derived: str, chosen: str | None, encoder: Encoder) -> str:
    """Return the text between answer and user turn: derived, or the model entry's override.

    Raises:
        TemplateError: the override does not fit the derived text.
    """
    if chosen is None:
        return derived
    before, found, _ = derived.rpartition(chosen)
    if found:
        return before + found
    controls = encoder.find(derived)
    if controls and not chosen.lstrip().startswith(controls[0]):
        raise TemplateError(
            f"user_header {chosen!r} does not fit the template's {derived!r}: it must "
            "be a part of that text, which is then cut off after it, or replace all of it "
            f"and so begin with {controls[0]!r}; correct the model's entry"
        )
    return chosen


def is_true_prefix(
    encoder: Encoder,
    ids: Sequence[int],
    literals: Sequence[str],
    contents: Sequence[str],
    messages: Sequence[str],
) -> bool:
    """Return whether `ids` is a prefix of the conversation's token ids with every next message."""
    return all(
        encoder.encode([*literals, ""], [*contents, message])[: len(ids)] == list(ids)
        for message in messages
    )


def left_to_the_model(
    encoder: Encoder,
    literals: Sequence[str],
    contents: Sequence[str],
    behind: str,
    messages: Sequence[str],
) -> str:
    """Return the shortest end of a header to leave out, so that its ids are a true prefix.

    Without this end the prompt's token ids are a prefix of every real conversation's.

    Args:
        encoder: the model's encoder.
        literals: the template's texts, the last one ending in the chosen header.
        contents: the messages between them.
        behind: the template's text between the chosen header and the user's message.
        messages: real next messages, as the template shows them.

    Raises:
        TemplateError: no end of plain text makes it so.
    """
    *before, header = literals
    whole = [*before, header + behind]
    controls = encoder.find(header)
    plain = header[header.rindex(controls[-1]) + len(controls[-1]) :] if controls else header[1:]
    for n_left in range(len(plain) + 1):
        shown = header[: len(header) - n_left]
        ids = encoder.encode([*before, shown], contents)
        if is_true_prefix(encoder, ids, whole, contents, messages):
            return header[len(shown) :]
    raise TemplateError(
        f"no part of the user header {header!r} has tokens that begin those of every user message; "
        "this tokenizer cannot be used, leave the model out"
    )
