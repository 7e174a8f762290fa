"""Small conversations on which every chat template is tested before a study relies on it."""

from userturn.datasets.messages import Message

# These expose a template that trims, escapes, changes case, or expects only letters.
EXAMPLE: tuple[Message, ...] = (
    {"role": "user", "content": "What is 2 + 2?\nIs it < 5, isn't it & why?"},
    {"role": "assistant", "content": 'Two and two make "four":\n\n1. Yes, 4 < 5.\n2. Ünal agrees.'},
)
SYSTEM: Message = {"role": "system", "content": "Answer briefly.\n\nIf you don't know, say so."}
# No two begin or end alike, so they expose a header that depends on the text after it.
NEXT_USER_MESSAGES = (
    "Why is that, in short?",
    '12 < 13 & "so on" isn\'t what I meant.\n\nShow `f(x)` for Ünal, step by step',
)
# Ways in which real messages begin: the probe's tokens must be a prefix of each one's tokens.
# None begins with white space, which could not be told apart from the header's own.
NEXT_MESSAGES_BY_BEGINNING = {
    "a letter": NEXT_USER_MESSAGES[0],
    "a digit": NEXT_USER_MESSAGES[1],
    "a quote": '"Four" is a number, is it not?',
    "a non-Latin word": "为什么是四",
}
AFTER_A_LINE_BREAK = "\nAnd what is three and three?"
# A vocabulary may join the header's last character with any of these: each printable of ASCII, and
# one of each kind of letter, mark, number, sign and symbol beyond.
BEYOND_ASCII = "éÄßжЯαλעبहกあアㄱ漢ー٣²Ⅷ«“‘…–—·¿¡。、《【（％€£°±×≤→∞©™😀👍🏽"  # noqa: RUF001
FIRST_CHARACTERS = tuple(
    f"{first} is what I mean" for first in (*map(chr, range(33, 127)), *BEYOND_ASCII)
)


def user(content: str) -> Message:
    """Return a user message."""
    return {"role": "user", "content": content}


NEXT_USER = user(NEXT_USER_MESSAGES[0])
