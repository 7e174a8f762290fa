"""A lever that would change nothing is refused, so that no contrast compares a model to itself."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from tests.support.chat_formats import all_formats
from userturn.prompts.chat_template import Template
from userturn.prompts.template_checks import Other, prove_format
from userturn.prompts.tokenize import TemplateError

FORMATS = {one.name: one for one in all_formats()}


def with_options(template: Template, **options: object) -> Template:
    return replace(template, options={**template.options, **options})


def beside(template: Template, *levers: str) -> list[Other]:
    return [Other("the default format", template, levers)]


def test_format_that_changes_no_prompt_is_refused() -> None:
    template = FORMATS["gemma 3"].made()
    with pytest.raises(TemplateError, match="changes nothing: the probe prompt is the same"):
        prove_format(replace(template, system=""), beside(template, "system"))


def test_format_that_changes_the_prompts_says_what_it_leaves_out() -> None:
    template = FORMATS["qwen 1.5"].made()
    said = prove_format(replace(template, system=""), beside(template, "system"))
    assert "each lever of the format changes the prompts" in said
    assert "You are a helpful assistant" in said


def test_a_lever_whose_text_another_lever_takes_away_is_refused() -> None:
    """gpt-oss writes the effort into the system prompt that `system: none` leaves out."""
    template = FORMATS["gpt-oss"].made()
    without = replace(template, system="")
    both = with_options(without, reasoning_effort="low")
    others = [*beside(template, "system", "reasoning_effort")]
    prove_format(with_options(template, reasoning_effort="low"), others[:0])
    with pytest.raises(TemplateError, match="`reasoning_effort` of this format changes nothing"):
        prove_format(both, [*others, Other("the format without it", without, ["reasoning_effort"])])


@pytest.mark.parametrize("levers", [["reasoning_effort"], ["reasoning_effort", "answer"]])
def test_two_formats_that_are_one_are_refused(levers: Collection[str]) -> None:
    template = replace(FORMATS["gpt-oss"].made(), system="")
    low, high = (with_options(template, reasoning_effort=effort) for effort in ("low", "high"))
    with pytest.raises(TemplateError, match="is the same in the format `high`"):
        prove_format(low, [Other("the format `high`", high, levers)])


def test_thinking_that_a_template_does_not_read_is_refused() -> None:
    template = FORMATS["phi 4"].made()
    with pytest.raises(TemplateError, match="`thinking` of this format changes nothing"):
        prove_format(with_options(template, enable_thinking=True), beside(template, "thinking"))


def test_system_prompt_with_a_control_token_is_refused() -> None:
    template = FORMATS["qwen 1.5"].made()
    with pytest.raises(TemplateError, match=r"<\|im_end\|>"):
        prove_format(replace(template, system="Stop.<|im_end|>"), beside(template, "system"))
