"""Chat completions whose text is not the one object that was asked for, or only nearly."""

import json
from typing import Any

from tests.support.faults.row import (
    CUT,
    GENERIC,
    GOOD,
    KEYS,
    LABEL,
    NO_CONTENT,
    NO_OBJECT,
    RATIONALE,
    REFUSED,
    Fault,
    chat,
    final,
    twice,
    verdict,
)

TWIN = "a key stands twice"


def says(**changes: Any) -> str:
    """Return a verdict with some keys changed; `...` leaves one out."""
    whole = json.loads(GENERIC) | changes
    return json.dumps({key: value for key, value in whole.items() if value is not ...})


def no_object(content: Any) -> Fault:
    """A text that is not one object."""
    return twice(chat(content), NO_OBJECT)


def generic(content: Any, **other: Any) -> Fault:
    """A text that says `generic` clearly."""
    return verdict(chat(content, **other), label="generic")


TOOL = {"id": "t", "type": "function", "function": {"name": "reply", "arguments": GOOD}}
FENCED = f"```json\n{GENERIC}\n```"
QUOTED = f"```json\n{GOOD}\n```"
FORMS = {
    "empty text": no_object(""),
    "null": twice(chat(None), NO_CONTENT),
    "an object, not its text": twice(chat(json.loads(GOOD)), NO_CONTENT),
    "a list of parts": generic([{"type": "text", "text": GENERIC}]),
    "a fence of tildes": no_object(f"~~~\n{GENERIC}\n~~~"),
    "an object as a string": no_object(json.dumps(GENERIC)),
    "an object in an object": twice(chat(json.dumps({"reply": json.loads(GOOD)})), KEYS),
    "half an object": no_object(GENERIC[:30]),
    "a raw line break in a string": no_object(GENERIC.replace("Thanks", "Tha\nnks")),
    "a byte order mark": no_object(f"\ufeff{GENERIC}"),
    "NaN as the rationale": twice(chat(says(rationale=float("nan"))), RATIONALE),
    "brackets, 99,000 deep": no_object("[" * 99_000),
    "a thought without a beginning": no_object(f"So.</think>{GENERIC}"),
}
OBJECTS = {
    **{
        f"label {label!r}": twice(chat(says(label=label)), LABEL)
        for label in (
            "Generic", "GENERIC", " generic", "generic\n", "generic.", "genuine-followup", "", "x",
            "gen\u0435ric", "gen\u200beric", "\ud800", None, 1, True, ["generic"], {"a": 1},
        )
    },
    **{
        f"rationale {rationale!r}": twice(chat(says(rationale=rationale)), RATIONALE)
        for rationale in (None, 1, ["r"], {"a": "r"})
    },
    **{
        f"genuine {genuine!r}": generic(says(genuine=genuine))
        for genuine in (True, None, "no", 0, [], ...)
    },
    "no label": twice(chat(says(label=...)), KEYS),
    "an empty object": twice(chat("{}"), KEYS),
    "the same label twice": twice(chat(GENERIC.replace("{", '{"label": "generic", ')), TWIN),
    "a key twice, one escaped": twice(
        chat(GENERIC.replace("{", '{"l\\u0061bel": "unrelated", ')), TWIN
    ),
    "a rationale of 400,000 characters": generic(says(rationale="x" * 400_000)),
    "half a character in the rationale": generic(says(rationale="\ud800")),
    "NUL in the rationale": generic(says(rationale="\x00")),
    "a terminal's codes in the rationale": generic(says(rationale="\x1b[2J")),
    "an extra text that ends a line of Unicode": generic(says(rationale="a\u2028b\x85c")),
}  # fmt: skip
ENDS = {
    **{
        f"finish reason {reason!r}": generic(GENERIC, finish_reason=reason)
        for reason in ("STOP", "eos", "end_turn", "tool_calls", "", "other", None, 1, ...)
    },
    **{
        f"finish reason {reason!r}": twice(chat(GENERIC, reason), CUT)
        for reason in ("length", "max_tokens", "MAX_TOKENS", "model_length")
    },
    **{
        f"finish reason {reason!r}": final(chat(None, reason), REFUSED)
        for reason in (
            "content_filter", "content_filter: PROHIBITED_CONTENT", "refusal", "SAFETY",
            "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST",
        )
    },
    "a filter after a verdict": final(chat(GENERIC, "content_filter"), REFUSED),
    "half an object at the limit": twice(chat(GENERIC[:20], "length"), CUT),
    "nothing written at the limit": twice(chat("", "length"), CUT),
    "a refusal": final(chat(None, refusal="I cannot help."), REFUSED),
    "a refusal beside a verdict": final(chat(GENERIC, refusal="I cannot."), REFUSED),
    "half a character in a refusal": final(chat(None, refusal="\ud800"), REFUSED),
    "a refusal that is a list": generic(GENERIC, refusal=[]),
    "a call of a tool": twice(chat(None, "tool_calls", tool_calls=[TOOL]), NO_CONTENT),
    "reasoning beside a verdict": generic(GENERIC, reasoning_content=GOOD),
    "a verdict in the reasoning": twice(chat(None, reasoning_content=GOOD), NO_CONTENT),
    "a verdict in parsed": twice(chat(None, parsed=json.loads(GOOD)), NO_CONTENT),
}  # fmt: skip
CONTENTS = {f"content: {name}": row for name, row in (FORMS | OBJECTS | ENDS).items()}
