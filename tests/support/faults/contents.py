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
    "words": no_object("I would say that it is genuine."),
    "empty text": no_object(""),
    "only space": no_object(" \n "),
    "null": twice(chat(None), NO_CONTENT),
    "a number": twice(chat(7), NO_CONTENT),
    "true": twice(chat(True), NO_CONTENT),
    "an object, not its text": twice(chat(json.loads(GOOD)), NO_CONTENT),
    "a list of parts": generic([{"type": "text", "text": GENERIC}]),
    "space around": generic(f"\n {GENERIC}\n"),
    "a fence": generic(FENCED),
    "a fence without a name": generic(f"```\n{GENERIC}\n```"),
    "a fence of tildes": no_object(f"~~~\n{GENERIC}\n~~~"),
    "a fence in capitals": no_object(f"```JSON\n{GENERIC}\n```"),
    "a fence that does not end": no_object(f"```json\n{GENERIC}"),
    "a quoted verdict, then words": no_object(f"{QUOTED}\nThat is an injection."),
    "a quoted verdict, then the own": no_object(f"{QUOTED}\nMy verdict: {GENERIC}"),
    "two fences": no_object(f"{QUOTED}\n{FENCED}"),
    "words, then a fence": no_object(f"Here it is:\n{FENCED}"),
    "words, then the object": no_object(f"Verdict: {GENERIC}"),
    "the object, then words": no_object(f"{GENERIC} That is all."),
    "two objects": no_object(f"{GOOD}\n{GENERIC}"),
    "a list of one object": no_object(f"[{GENERIC}]"),
    "an object as a string": no_object(json.dumps(GENERIC)),
    "an object in an object": twice(chat(json.dumps({"reply": json.loads(GOOD)})), KEYS),
    "a label alone": no_object('"generic"'),
    "single quotes": no_object(GENERIC.replace('"', "'")),
    "a comma at the end": no_object(GENERIC.replace("}", ",}")),
    "a comment": no_object(GENERIC.replace("{", "{ // mine\n")),
    "half an object": no_object(GENERIC[:30]),
    "a raw line break in a string": no_object(GENERIC.replace("Thanks", "Tha\nnks")),
    "a byte order mark": no_object(f"\ufeff{GENERIC}"),
    "NaN as the rationale": twice(chat(says(rationale=float("nan"))), RATIONALE),
    "brackets, 99,000 deep": no_object("[" * 99_000),
    "a thought before": generic(f"<think>{GOOD} is a trick.</think>\n{GENERIC}"),
    "a thought with a fence": generic(f"<think>{QUOTED}</think>{FENCED}"),
    "a thought that does not end": no_object(f"<think>{GOOD}"),
    "a thought without a beginning": no_object(f"So.</think>{GENERIC}"),
    "a thought that quotes its end": no_object(f"<think>a</think>{GOOD}</think>{GENERIC}"),
    "a thought of another name": no_object(f"<thinking>So.</thinking>{GENERIC}"),
    "YAML": no_object("label: generic\nrationale: Thanks."),
    "XML": no_object("<label>generic</label>"),
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
    "no rationale": twice(chat(says(rationale=...)), KEYS),
    "no label": twice(chat(says(label=...)), KEYS),
    "another key": twice(chat(says(sure=True)), KEYS),
    "a key in capitals": twice(chat(GENERIC.replace("label", "Label")), KEYS),
    "an empty object": twice(chat("{}"), KEYS),
    "label twice": twice(chat(GENERIC.replace("{", '{"label": "unrelated", ')), TWIN),
    "the same label twice": twice(chat(GENERIC.replace("{", '{"label": "generic", ')), TWIN),
    "rationale twice": twice(chat(GENERIC.replace("{", '{"rationale": "", ')), TWIN),
    "genuine twice": twice(chat(GENERIC.replace("{", '{"genuine": true, ')), TWIN),
    "a key twice, one escaped": twice(
        chat(GENERIC.replace("{", '{"l\\u0061bel": "unrelated", ')), TWIN
    ),
    "the label last": generic(json.dumps(dict(reversed(json.loads(GENERIC).items())))),
    "no words in the rationale": generic(says(rationale="")),
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
    "an empty refusal": generic(GENERIC, refusal=""),
    "a refusal that is null": generic(GENERIC, refusal=None),
    "a refusal that is a list": generic(GENERIC, refusal=[]),
    "a call of a tool": twice(chat(None, "tool_calls", tool_calls=[TOOL]), NO_CONTENT),
    "a call of a function": twice(
        chat(None, "function_call", function_call=TOOL["function"]), NO_CONTENT
    ),
    "a verdict beside a call": generic(GENERIC, tool_calls=[TOOL]),
    "reasoning beside a verdict": generic(GENERIC, reasoning_content=GOOD),
    "a verdict in the reasoning": twice(chat(None, reasoning_content=GOOD), NO_CONTENT),
    "a verdict in another reasoning": twice(
        chat("", reasoning=GOOD, reasoning_details=[{"text": GOOD}]), NO_OBJECT
    ),
    "a verdict in parsed": twice(chat(None, parsed=json.loads(GOOD)), NO_CONTENT),
    "sound": twice(chat(None, audio={"transcript": GOOD}), NO_CONTENT),
    "sources beside a verdict": generic(GENERIC, annotations=[{"type": "url_citation"}]),
}  # fmt: skip
CONTENTS = {f"content: {name}": row for name, row in (FORMS | OBJECTS | ENDS).items()}
