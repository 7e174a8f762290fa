"""User turns as annotators see them: nothing in their writing tells which model family wrote them.

A turn ends in its model's own stop token and may hold others: `<|im_end|>` is one family's,
`<|start|>assistant<|channel|>analysis` another's. Tokens at either end of a turn are taken off;
inside, one that opens a role is shown as that role, any other as one neutral mark. Characters that
turn the direction of text around, or show nothing, are shown by their code.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

MARK = "⟦mark⟧"
ROLES = "system|developer|user|assistant|tool|observation|model|ipython"
OPENS_ROLE = re.compile(
    rf"(?:<\|(?:im_start|start|turn|start_of_role)\|?>|<\|start_header_id\|>|<start_of_turn>)"
    rf"(?P<a>{ROLES})\b(?:<\|(?:end_header_id|end_of_role)\|>)?"
    rf"|<[|｜](?P<b>{ROLES})[|｜]>",
    re.IGNORECASE,
)
CHANNEL = re.compile(r"<\|(?:channel|constrain)\|>[ \w]*")
TOKEN = re.compile(
    r"<[|｜][^<>|｜\n]{1,48}[|｜]>"
    r"|</?(?:s|sop|eop|eos|bos|pad|unk|think|start_of_turn|end_of_turn)>"
    r"|\[/?(?:INST|gMASK|MASK|sMASK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]"
)
MARKS = re.compile(rf"{MARK}(?:\s*{MARK})*")
ENDS = re.compile(rf"^(?:\s*⟦(?:mark|{ROLES})⟧)+|(?:\s*⟦(?:mark|{ROLES})⟧)+\s*$")
UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)


def special_tokens(paths_to_descriptions: Sequence[str]) -> list[str]:
    """Return the stop tokens of all models that are described, the longest first."""
    tokens: set[str] = set()
    for path in paths_to_descriptions:
        tokens.update(json.loads(Path(path).read_text())["stop"])
    return sorted((token for token in tokens if token.strip()), key=lambda t: (-len(t), t))


def neutral(text: str, tokens: Sequence[str], is_turn: bool = False) -> str:
    """Return a text without what tells its model family; a turn also without its end.

    Args:
        text: as the model wrote it, special tokens kept.
        tokens: stop tokens of the models, beyond those that are known by their form.
        is_turn: whether the text is a user turn, at whose ends tokens say nothing.
    """
    text = text.replace("\r\n", "\n")
    text = OPENS_ROLE.sub(lambda found: f"⟦{_role(found)}⟧", text)
    text = TOKEN.sub(MARK, CHANNEL.sub(MARK, text))
    for token in tokens:
        text = text.replace(token, MARK)
    text = MARKS.sub(MARK, text)
    text = UNSEEN.sub(lambda found: f"⟦U+{ord(found[0]):04X}⟧", text)
    return ENDS.sub("", text).strip() if is_turn else text


def _role(found: re.Match[str]) -> str:
    role = (found["a"] or found["b"]).lower()
    return "assistant" if role == "model" else role
