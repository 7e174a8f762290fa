"""Make user turns blind: nothing in the text that annotators see reveals the model family.

A turn ends in its model's own stop token and may contain others: `<|im_end|>` is one family's,
`<|start|>assistant<|channel|>analysis` another's. Tokens at either end of a turn are removed.
Inside a turn, a token that opens a role is shown as that role, and any other as one neutral mark.
Characters that reverse the direction of text, or are invisible, are shown by their code, except the
joiners that emoji need.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from userturn.prompts.tokenize import CONTROL_TOKEN, OPENS_ROLE, ROLES
from userturn.wording import show_codes

MARK = "⟦mark⟧"
CHANNEL = re.compile(r"<\|(?:channel|constrain)\|>[ \w]*")
MARKS = re.compile(rf"{MARK}(?:\s*{MARK})*")
SHOWN = re.compile(rf"⟦(?:mark|{ROLES})⟧")
FIRST = re.compile(rf"(?:\s*{SHOWN.pattern})*")


def stop_tokens(paths_to_descriptions: Sequence[str]) -> list[str]:
    """Return the stop tokens of all described models, the longest first."""
    tokens: set[str] = set()
    for path in paths_to_descriptions:
        tokens.update(json.loads(Path(path).read_text())["stop"])
    return sorted((token for token in tokens if token.strip()), key=lambda t: (-len(t), t))


def neutral(text: str, tokens: Sequence[str], is_turn: bool = False) -> str:
    """Return a text without what reveals its model family, a turn also without marks at its ends.

    `tokens` are further stop tokens, the longest first, beyond those that are known by their form.
    """
    text = text.replace("\r\n", "\n")
    text = OPENS_ROLE.sub(lambda match: f"⟦{_role(match)}⟧", text)
    text = CONTROL_TOKEN.sub(MARK, CHANNEL.sub(MARK, text))
    for token in tokens:
        text = text.replace(token, MARK)
    text = MARKS.sub(MARK, text)
    text = show_codes(text)
    return _strip_marks(text) if is_turn else text


def _strip_marks(turn: str) -> str:
    """Return a turn without the marks at its two ends, in a single pass over its text."""
    begin = match.end() if (match := FIRST.match(turn)) else 0
    end = len(turn)
    for mark in reversed([*SHOWN.finditer(turn, begin)]):
        if turn[mark.end() : end].strip():
            break
        end = mark.start()
    return turn[begin:end].strip()


def _role(match: re.Match[str]) -> str:
    role = (match["a"] or match["b"] or match["c"]).lower()
    return "assistant" if role == "model" else role
