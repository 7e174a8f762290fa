"""The text of a chat template without what shapes no prompt: remarks, and spaces inside of tags.

A comment is a remark if it consists of words alone. Any other may quote a token, and a template's
text is searched for tokens, so it stays.
"""

import re
from functools import cache
from itertools import takewhile
from typing import Any

from userturn.storage.hashing import canonical_json

WORDS = r"[\w\s.,;:!?'\"()/=+*-]*?"  # what a remark is made of: no bracket, no bar
REMARK = re.compile(rf"\{{#(?P<before>[-+]?){WORDS}(?P<behind>[-+]?)#\}}")
UNREAD = ("whitespace", "raw_begin", "raw_end")
MARKS = ("block_begin", "block_end", "variable_begin", "variable_end")


@cache
def _environment() -> Any:
    """Return what reads a template as transformers does: the lexer needs no more than this."""
    from jinja2 import Environment

    return Environment(trim_blocks=True, lstrip_blocks=True)


def shared_beginning(one: str, other: str) -> str:
    """Return the text with which two texts both begin."""
    pairs = zip(one, other, strict=False)
    return one[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))]


def normal_template(text: str) -> str:
    """Return a text that two chat templates share only if they render every conversation alike.

    It lists what Jinja's lexer reads, without spaces and remarks. What the signs of `{%-` and
    `-%}` take away is already missing from it. A text that is no template is its own normal form.
    """
    from jinja2 import TemplateError

    read: list[list[str]] = []
    try:
        for _, kind, value in _environment().lex(text):
            if kind in UNREAD or kind.startswith("comment_") or (kind, value) == ("data", ""):
                continue
            if kind == "comment" and _is_remark(value):
                continue
            if kind == "data" and read and read[-1][0] == "data":
                read[-1][1] += value
            else:
                read.append([kind, "" if kind in MARKS else value])
    except TemplateError:
        return canonical_json(text)
    return canonical_json(read)


def _is_remark(comment: str) -> bool:
    return re.fullmatch(WORDS, comment) is not None


def without_remarks(text: str) -> str:
    """Return a chat template without the words of its remarks, to search it for tokens."""
    empty = REMARK.sub(r"{#\g<before>\g<behind>#}", text)
    return empty if normal_template(empty) == normal_template(text) else text
