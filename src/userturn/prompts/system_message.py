"""The system message of a conversation: its own, else one of a text; merged into the user's."""

from collections.abc import Sequence

from userturn.datasets.messages import Message

BETWEEN = "\n\n"
ADVICE = (
    "; leave that item out, or give the model's entry `merge_system_message: true`, which writes "
    "it before the text of the first user message"
)


def begins_with_system(messages: Sequence[Message]) -> bool:
    """Return whether a conversation begins with a system message and a user's."""
    return [message["role"] for message in messages[:2]] == ["system", "user"]


def merge_system_message(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation whose system message is the beginning of its first user message.

    A conversation that does not begin with a system message and a user's stays as it is.
    """
    if not begins_with_system(messages):
        return [*messages]
    system, question, *rest = messages
    text = system["content"] + BETWEEN + question["content"]
    return [{"role": "user", "content": text}, *rest]


def as_written(
    messages: Sequence[Message], system: str | None, *, merge: bool
) -> Sequence[Message]:
    """Return a conversation as a template is given it.

    Args:
        messages: the conversation.
        system: text of a system message, if the conversation brings none; None or empty for none.
        merge: whether the system message is then written into the first user message.
    """
    has_own = any(message["role"] == "system" for message in messages[:1])
    if system and not has_own:
        messages = [{"role": "system", "content": system}, *messages]
    return merge_system_message(messages) if merge else messages
