"""Control tokens of model families by their form.

No model's tokenizer is at hand where texts of many models are judged or shown, so a token is known
by how families write theirs: `<|im_end|>`, `<｜User｜>`, `<start_of_turn>`, `</s>`, `[INST]`,
`[|endofturn|]` of EXAONE, `]~b]` and `[e~[` of MiniMax.
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
"""The control tokens with which a role begins, and its name in one of the groups a, b and c."""

MAY_OPEN_TOKEN = (
    rf"<(?=[|/a-zA-Z_｜])|\[(?=/?[A-Z]|[gs]?MASK|\|)|(?={_MINIMAX})[\[\]]"
    rf"|\[(?=[ \t]*(?i:{ROLES})[ \t]*\])"
)
"""The first character of all that could be a control token, of a family not known here too.

Also of `[user]` and the like, with which a judge's prompt heads the messages of a conversation.
"""
