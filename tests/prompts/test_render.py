"""What a chat template writes around messages, and which templates are refused and why."""

from datetime import date
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest

from userturn.prompts.examples import EXAMPLE, user
from userturn.prompts.given_messages import merge_system_message
from userturn.prompts.render import Renderer
from userturn.prompts.tokenize import TemplateError


def renderer(template: str, **choices: Any) -> Renderer:
    """Return a renderer of a template by itself."""
    compiled = jinja2.Environment().from_string(template)

    def apply(messages: list[dict[str, Any]], add_generation_prompt: bool, **options: Any) -> str:
        return compiled.render(messages=messages, add_generation_prompt=add_generation_prompt)

    return Renderer(
        SimpleNamespace(apply_chat_template=apply, chat_template=template), date.today(), **choices
    )


TEXT = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}\n{% endfor %}"
PARTS = (
    "{% for m in messages %}<{{ m.role }}>"
    "{% for part in m.content %}{{ part.text }}{% endfor %}\n{% endfor %}"
)
SYSTEM_LAST = (
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}>"
    "{% if loop.last and messages[0].role == 'system' %}{{ messages[0].content }} {% endif %}"
    "{{ m.content }}{% endfor %}"
)


@pytest.mark.parametrize("template", [TEXT, PARTS])
def test_content_is_given_as_text_and_as_parts_only_where_the_template_wants_them(
    template: str,
) -> None:
    made = renderer(template)
    assert made.takes_parts is (template == PARTS)
    assert made.literals(EXAMPLE[:2]) == ["<user>", "\n<assistant>", "\n"]


@pytest.mark.parametrize("how", ["", " | tojson", " | string", " | truncate(6, True, '')"])
def test_a_template_that_would_write_the_list_of_parts_itself_is_given_none(how: str) -> None:
    assert not renderer("{{ messages[0].content" + how + " }}").takes_parts


NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.is.not.taken }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}"
)
SYSTEM = {"role": "system", "content": "Be brief."}


def test_a_system_message_that_is_moved_is_named_with_its_new_place_and_what_helps() -> None:
    said = [SYSTEM, *EXAMPLE, user("And three?")]
    with pytest.raises(TemplateError, match="moves message 1, the system's, after the") as refused:
        renderer(SYSTEM_LAST).literals(said)
    assert "`merge_system_message: true`" in str(refused.value)


def test_a_template_that_refuses_a_system_message_says_what_helps() -> None:
    with pytest.raises(TemplateError, match="`merge_system_message: true`"):
        renderer(NO_SYSTEM).literals([SYSTEM, *EXAMPLE])
    with pytest.raises(TemplateError) as refused:
        renderer("{{ nothing.there }}").literals(EXAMPLE)
    assert "merge_system_message" not in str(refused.value)


@pytest.mark.parametrize("template", [SYSTEM_LAST, NO_SYSTEM])
def test_a_merged_system_message_stays_at_the_beginning_of_the_first_user_message(
    template: str,
) -> None:
    made = renderer(template, merge_system_message=True)
    literals, contents = made.split([SYSTEM, *EXAMPLE, user("And three?")])
    assert literals == ["<user>", "\n\n", "<assistant>", "<user>", ""]
    assert contents == ["Be brief.", *(m["content"] for m in EXAMPLE), "And three?"]


def test_only_a_system_message_before_a_user_message_is_merged() -> None:
    alone, late = [SYSTEM], [*EXAMPLE, SYSTEM]
    assert merge_system_message(alone) == alone
    assert merge_system_message(late) == late
    assert merge_system_message(EXAMPLE) == [*EXAMPLE]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("  Why?\n\n", "Why?"),
        ("Why?" + " " * 20_000, "Why?"),
        (" " * 20_000 + "Why?", "Why?"),
        ("a  b", "a  b"),
    ],
)
def test_white_space_at_the_ends_may_be_trimmed(content: str, shown: str) -> None:
    literals, contents = renderer(TEXT).split([{"role": "user", "content": content}])
    assert (literals, contents) == (["<user>", "\n"], [shown])


@pytest.mark.parametrize("filtered", ["lower", "replace('  ', ' ')", "truncate(6, True, '')"])
def test_a_template_that_alters_a_message_is_refused(filtered: str) -> None:
    template = TEXT.replace("trim", filtered)
    with pytest.raises(TemplateError, match=r"alters the text of a message|0 times"):
        renderer(template).split([{"role": "user", "content": "Why  not Now?"}])


@pytest.mark.parametrize(
    ("line_ends", "expected"),
    [("{{ m.content }}\n", "Why?\n"), ("{{ m.content | trim }}\n", "Why?")],
)
def test_white_space_that_content_and_template_share_is_the_contents_first(
    line_ends: str, expected: str
) -> None:
    template = "{% for m in messages %}<{{ m.role }}>" + line_ends + "{% endfor %}"
    _, (shown,) = renderer(template).split([{"role": "user", "content": "Why?\n"}])
    assert shown == expected


def test_a_template_that_eats_memory_is_refused_with_the_reason() -> None:
    bomb = "{{ (messages[0].role * 1000000000) | length }}"
    with pytest.raises(TemplateError, match="it asked for more than 1 GiB"):
        renderer(bomb).render(EXAMPLE[:1])
