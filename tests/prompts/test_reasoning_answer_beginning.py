"""An answer without reasoning begins where the family's own format has it, or is refused."""

from datetime import date

import pytest

from tests.support import family_templates as families
from userturn.prompts.chat_template import Template, TemplateError
from userturn.prompts.reasoning import answer_beginning

TODAY = date(2026, 4, 2)


def made(name: str, **options: bool) -> Template:
    """Return a family's template with a small vocabulary that has its marks."""
    return Template(families.of_family(name), TODAY, options)


@pytest.mark.parametrize("name", ["qwen2_5", "llama3_1", "gemma3", "phi3"])
def test_most_families_answer_right_after_the_prompt(name: str) -> None:
    assert answer_beginning(made(name)) == ""


def test_space_that_the_template_writes_before_answers_is_kept() -> None:
    assert answer_beginning(made("smolvlm")) == " "


def test_gpt_oss_answers_in_its_final_channel() -> None:
    assert answer_beginning(made("gptoss")) == "<|channel|>final<|message|>"


def test_glm_closes_an_empty_thought_as_its_history_does() -> None:
    assert answer_beginning(made("glm4moe", enable_thinking=True)) == "\n<think></think>\n"


@pytest.mark.parametrize("name", ["qwen3", "qwen3_5_think", "nemotron_3_nano"])
def test_reasoning_that_the_template_turns_off_leaves_nothing_to_add(name: str) -> None:
    assert answer_beginning(made(name, enable_thinking=False)) == ""


@pytest.mark.parametrize("name", ["qwen3_5_think", "nemotron_3_nano", "deepseek_r1_distill"])
def test_reasoning_that_the_prompt_opens_is_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(TemplateError, match=r"opens reasoning before an answer: '<think>'; .* set"):
        answer_beginning(made(name, enable_thinking=True))
