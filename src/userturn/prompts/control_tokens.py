"""Recognise the control tokens of model families by their form.

Where texts of many models are judged or shown, no model's tokenizer is loaded, so a token is
recognised by the forms that families use: `<|im_end|>`, `<｜User｜>`, `<start_of_turn>`, `</s>`,
`[INST]`, `[|endofturn|]` of EXAONE, `]~b]` and `[e~[` of MiniMax.
"""

import re

ROLES = "system|developer|user|assistant|tool|observation|model|ipython"
_WORDS = "s|sop|eop|eos|bos|pad|unk|think|start_of_turn|end_of_turn|tool_call|tool_response"
_BRACKETED = (
    "INST|gMASK|sMASK|MASK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT"
)
_MINIMAX = r"\]~!?[a-z]+[\[\]]|\]![a-z]~\[|\]<\][^\s\[\]]*\[>\[|\[e~\["

CONTROL_TOKEN = re.compile(
    r"<[|｜][^>|｜]*[|｜]>|<\|[^|>]*\|>"
    r"|<\|[a-zA-Z_]{1,32}>|<[a-zA-Z_]{1,32}\|>"
    rf"|</?(?:{_WORDS})>"
    rf"|\[/?(?:{_BRACKETED})\]"
    r"|\[\|[a-zA-Z_]{1,32}\|\]"
    rf"|{_MINIMAX}"
)
"""A whole control token."""

OPENS_ROLE = re.compile(
    rf"(?:<\|(?:im_start|start|turn|start_of_role)\|?>|<\|start_header_id\|>|<start_of_turn>"
    rf"|\]~b\])"
    rf"(?P<a>{ROLES})\b(?:<\|(?:end_header_id|end_of_role)\|>)?"
    rf"|<[|｜](?P<b>{ROLES})[|｜]>"
    rf"|\[\|(?P<c>{ROLES})\|\]",
    re.IGNORECASE,
)
"""The control tokens that begin a role's turn, with the role's name in group a, b or c."""

MAY_OPEN_TOKEN = (
    rf"<(?=[|/a-zA-Z_｜]|用户>)|\[(?=/?[A-Z]|[gs]?MASK|\|)|(?={_MINIMAX})[\[\]]"
    rf"|\[(?=[ \t]*(?i:{ROLES})[ \t]*\])"
)
"""The first character of anything that could be a control token, even of an unknown family.

Also of `[user]` and the like, the headings of messages in a judge's prompt.
"""

WIDE_TOKEN = rf"\uff1c(?=[|｜/a-zA-Z_])|\uff3b(?=[ \t]*(?:/?[A-Z]|(?i:{ROLES})\b))"
"""The first character of a token in full-width brackets, which a reader takes for the token."""

_SPEAKERS = rf"{ROLES}|human|ai|bot|chatbot"
_CLOSE = r":\uff1a\])】\uff09\uff3d>\uff1e"
NAMES_ROLE = rf"(?m:^)[^\w\n]*+(?=(?i:{_SPEAKERS})\b[^\w\n{_CLOSE}]*+[{_CLOSE}])\w"
"""What begins a line that names a role, up to the role's first letter.

That is in `user:`, `[human]`, `**AI:**` or `【user】`.
"""
