"""The bare user header: the template's own header up to the name of the role."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from userturn.prompts.own_system import LEAVE_OUT
from userturn.prompts.tokenize import TemplateError

if TYPE_CHECKING:
    from userturn.prompts.chat_template import Template

ROLE = re.compile(r"(?:user|human)[|｜#>\])]*", re.IGNORECASE)  # also a marker that is no token


def with_bare_header(template: "Template") -> "Template":
    """Return a template whose probe prompts end in the name of the user's role.

    A control token that holds the name stays whole.

    Raises:
        TemplateError: the header names no role, or ends in it.
    """
    header = template.user_header_text + template.left_to_the_model
    named = [*ROLE.finditer(header)]
    if not named:
        raise TemplateError(
            f"`header: bare`: the user header {header!r} names no role; {LEAVE_OUT}"
        )
    start, end = named[-1].span()
    for token in template.control_tokens:
        place = header.rfind(token)
        if 0 <= place <= start and end <= place + len(token):
            start, end = place, place + len(token)
    if not header[end:]:
        raise TemplateError(
            f"`header: bare`: the user header {header!r} ends in its role and is bare already; "
            f"{LEAVE_OUT}"
        )
    return replace(template, user_header=header[start:end])
