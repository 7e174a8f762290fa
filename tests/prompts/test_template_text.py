"""A template without remarks and spaces in tags: equal only where every prompt is."""

import json
from pathlib import Path

import pytest

from userturn.prompts.template_text import (
    effective,
    normal_template,
    remove_comments,
    settings_read,
    settings_read_in,
)

LOOP = "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] }}{% endfor %}"
SAME = {
    "a remark before it": "{# Written by hand, in 2026. #}\n" + LOOP,
    "a remark inside": LOOP.replace("{% endfor", "{#- the end -#}{% endfor"),
    "spaces in tags": LOOP.replace("{% for m in", "{%for  m\n in"),
    "signs that take nothing away": LOOP.replace("{% endfor %}", "{%- endfor -%}"),
    "two line breaks at the end": LOOP + "\n\n",
}
OTHER = {
    "a character outside of comments": LOOP + "x",
    "a third line break at the end": LOOP + "\n\n\n",  # Jinja drops two, one of them behind a tag
    "a space in a text": LOOP.replace("'<|'", "'<| '"),
    "another name": LOOP.replace("'role'", "'name'"),
    "an operator": LOOP.replace("+", "~"),
    "a comment that quotes a token": "{# <|im_end|> #}" + LOOP,
    "a remark in a text": LOOP.replace("'<|'", "'{# a #}<|'"),
    "a raw block": "{% raw %}" + LOOP + "{% endraw %}",
    "a tag that is no longer one": LOOP.replace("{% endfor", "{{ endfor"),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_what_shapes_no_prompt_leaves_the_normal_form_alone(text: str) -> None:
    assert text != LOOP
    assert normal_template(text) == normal_template(LOOP)


@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_what_may_shape_a_prompt_changes_the_normal_form(text: str) -> None:
    assert normal_template(text) != normal_template(LOOP)


def test_a_remark_between_texts_counts_by_the_spaces_that_it_takes_away() -> None:
    # Jinja drops the line break behind a comment, and spaces before it at the line's beginning.
    assert normal_template("a\n  {# b #}\nc") == normal_template("a\nc")
    assert normal_template("a {# b #} c") == normal_template("a  c") != normal_template("a c")


def test_what_is_no_template_is_its_own_normal_form() -> None:
    assert normal_template("{{ '") != normal_template("{{  '")


def test_tokens_are_searched_in_comments_but_not_in_remarks() -> None:
    text = "{# Here we think. #}{# or <think> #}{{ '{# a text #}' }}"
    assert remove_comments(text) == text  # a text would be changed, so all stays
    assert remove_comments(text[:36]) == "{##}{# or <think> #}"


SETTINGS = {
    "dtype": "float32",
    "enable_thinking": True,
    "today": "2026-01-01",
    "trust_remote_code": True,
    "template_options": {"effort": "low", "other": 1},
}


@pytest.mark.parametrize(
    ("template", "has_code", "read"),
    [
        ("{% for m in messages %}{{ m.content }}{% endfor %}", False, {"messages"}),
        (
            "{% if enable_thinking %}{{ messages[0] }}{% endif %}",
            False,
            {"enable_thinking", "messages"},
        ),
        ("{{ strftime_now('%Y') }}", False, {"strftime_now", "today"}),
        ("{% set effort = 1 %}{{ effort }}", True, {"trust_remote_code"}),
        ("{% if effort is defined %}{{ effort }}{% endif %}", False, {"effort"}),
    ],
)
def test_a_name_is_read_if_the_template_looks_it_up(
    template: str, has_code: bool, read: set[str]
) -> None:
    assert set(settings_read(template, has_code) or ()) == read


def test_of_a_template_that_cannot_be_parsed_every_setting_counts() -> None:
    assert settings_read("{% generation %}x{% endgeneration %}", False) is None
    assert effective(SETTINGS, None) == SETTINGS


def test_settings_that_are_not_read_are_left_out() -> None:
    assert effective(SETTINGS, ["effort"]) == {
        "dtype": "float32",
        "template_options": {"effort": "low"},
    }
    assert effective(SETTINGS, []) == {"dtype": "float32"}


def test_a_folder_is_read_without_its_tokenizer(tmp_path: Path) -> None:
    assert settings_read_in(tmp_path) is None
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": "{{ a }}", "auto_map": {}}))
    assert settings_read_in(tmp_path) == ["a", "trust_remote_code"]
    (tmp_path / "chat_template.jinja").write_text("{{ b }}")
    assert settings_read_in(tmp_path) == ["b", "trust_remote_code"]
    own = tmp_path / "own.jinja"
    own.write_text("{{ c }}")
    assert settings_read_in(tmp_path, str(own)) == ["c", "trust_remote_code"]
