"""A template without remarks and spaces in tags: equal only where every prompt is."""

import pytest

from userturn.prompts.template_text import normal_template, without_remarks

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
    assert without_remarks(text) == text  # a text would be changed, so all stays
    assert without_remarks(text[:36]) == "{##}{# or <think> #}"
