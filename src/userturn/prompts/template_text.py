"""The text of a chat template: its normal form, and which settings of a model it reads.

A comment is a remark if it consists of words alone. Any other may quote a token, and a template's
text is searched for tokens, so it stays.
"""

import re
from collections.abc import Collection, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from userturn.storage.files import read_json, read_text
from userturn.storage.hashing import canonical_json

WORDS = r"[\w\s.,;:!?'\"()/=+*-]*?"  # what a remark is made of: no bracket, no bar
REMARK = re.compile(rf"\{{#(?P<before>[-+]?){WORDS}(?P<behind>[-+]?)#\}}")
UNREAD = ("whitespace", "raw_begin", "raw_end")
MARKS = ("block_begin", "block_end", "variable_begin", "variable_end")


def shared_beginning(one: str, other: str) -> str:
    """Return the longest common beginning of two texts."""
    pairs = zip(one, other, strict=False)
    return one[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))]


def normal_template(text: str) -> str:
    """Return a text that two chat templates share only if they render every conversation alike.

    It lists the tokens of Jinja's lexer, without spaces and remarks. White space that `{%-` and
    `-%}` strip is already missing. A text that is no template is its own normal form.
    """
    from jinja2 import Environment, TemplateError

    as_transformers = Environment(trim_blocks=True, lstrip_blocks=True)
    read: list[list[str]] = []
    try:
        for _, kind, value in as_transformers.lex(text):
            if kind in UNREAD or kind.startswith("comment_") or (kind, value) == ("data", ""):
                continue
            if kind == "comment" and re.fullmatch(WORDS, value):  # a remark
                continue
            if kind == "data" and read and read[-1][0] == "data":
                read[-1][1] += value
            else:
                read.append([kind, "" if kind in MARKS else value])
    except TemplateError:
        return canonical_json(text)
    return canonical_json(read)


def remove_comments(text: str) -> str:
    """Return a chat template with its remarks emptied, to search it for tokens."""
    empty = REMARK.sub(r"{#\g<before>\g<behind>#}", text)
    return empty if normal_template(empty) == normal_template(text) else text


CODE = "trust_remote_code"
TODAY = "today"
THINKING = "enable_thinking"
OPTIONS = "template_options"


def settings_read(template: str, has_code: bool) -> list[str] | None:
    """Return names of variables and settings that a template (and code) reads, None if unknown."""
    from jinja2 import Environment, TemplateSyntaxError
    from jinja2.meta import find_undeclared_variables

    try:
        parsed = Environment(extensions=["jinja2.ext.loopcontrols"]).parse(template)
    except TemplateSyntaxError:
        return None  # such as one with tags of its own
    names = set(find_undeclared_variables(parsed))
    names |= {TODAY} if "strftime_now" in names else set()
    return sorted(names | ({CODE} if has_code else set()))


def has_own_code(folder: Path) -> bool:
    """Return whether a model's folder has code that `trust_remote_code` lets run."""
    return any(folder.glob("*.py")) or any(
        "auto_map" in read_json(path)
        for path in (folder / "config.json", folder / "tokenizer_config.json")
        if path.is_file()
    )


def settings_read_in(folder: Path, own: str | None = None) -> list[str] | None:
    """Return `settings_read` of a model folder's template, or None if none can be read.

    `own` is the path of the template that its entry has in place of the folder's, if any.
    """
    path, config = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    if own or path.is_file():
        template: Any = read_text(own or path)
    else:
        template = read_json(config).get("chat_template") if config.is_file() else None
    return settings_read(template, has_own_code(folder)) if isinstance(template, str) else None


def effective(settings: Mapping[str, Any], read: Collection[str] | None) -> dict[str, Any]:
    """Return a model's settings without those that its template and code do not read.

    `read` has the names of those that it reads. If it is None, all settings stay.
    """
    if read is None:
        return dict(settings)
    needless = {CODE, TODAY, THINKING} - set(read)
    left = {name: value for name, value in settings.items() if name not in needless}
    options = {name: value for name, value in left.pop(OPTIONS, {}).items() if name in read}
    return left | ({OPTIONS: options} if options else {})
