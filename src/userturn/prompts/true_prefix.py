"""Check that the probe's tokens begin those of every real conversation.

Where the header ends in text that a tokenizer joins with the message's first word, as a space, no
real conversation holds the tokens of the whole header: the end of it is left to the model to write.
"""

from collections.abc import Sequence

from userturn.prompts.tokenize import Encoder, TemplateError


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


def find_left_to_the_model(
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
