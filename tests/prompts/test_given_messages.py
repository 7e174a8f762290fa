"""`system: none` leaves out what a template writes as its own system prompt, and nothing else."""

from dataclasses import replace

import pytest

from tests.support.chat_formats import all_formats
from userturn.prompts.chat_template import Template
from userturn.prompts.template_checks import prove
from userturn.prompts.tokenize import TemplateError

FORMATS = {one.name: one for one in all_formats()}
QUESTION = [{"role": "user", "content": "Why?"}]
SYSTEM = {"role": "system", "content": "Be brief."}
# The beginnings of prompts without a system prompt, by hand from the templates of formats.yaml.
WITHOUT = {
    "llama 3.1, 3.3": "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nWhy?",
    "vicuna": "USER: Why? ASSISTANT:",
    "deepseek coder": "<｜begin▁of▁sentence｜>### Instruction:\nWhy?",
    "cohere 2 (tiny aya)": "<BOS_TOKEN><|START_OF_TURN_TOKEN|><|USER_TOKEN|>Why?",
    # It writes what ends a turn only between turns.
    "qwen 1.5": "<|im_start|>user\nWhy?<|im_end|>\n",
    "minimax m2": "]~!b[]~b]user\nWhy?",
    "apriel 1.5": "<s><|user|>\nWhy?",
    "gpt-oss": "<|start|>user<|message|>Why?<|end|>",
}
# They write none of their own, though some have turns without words before the user's.
NONE = [
    "llama 2", "llama 3", "gemma 3", "chatglm 4", "phi 3 mini", "tulu 3", "rwkv world",
    "nemotron 3 nano", "hyperclova x think", "exaone 3.5", "smolvlm",
]  # fmt: skip


def without(template: Template) -> Template:
    return replace(template, system="")


@pytest.mark.parametrize("name", WITHOUT)
def test_prompt_begins_with_the_user_where_the_template_s_own_system_prompt_is_left_out(
    name: str,
) -> None:
    template = FORMATS[name].made()
    prompt = without(template).answer_prompt(QUESTION).text
    assert prompt.startswith(WITHOUT[name])
    assert prove(without(template))


@pytest.mark.parametrize("name", NONE)
def test_prompt_stays_where_the_template_writes_no_system_prompt(name: str) -> None:
    template = FORMATS[name].made()
    assert without(template).answer_prompt(QUESTION) == template.answer_prompt(QUESTION)


def test_template_whose_system_prompt_has_no_beginning_is_refused() -> None:
    """Hunyuan 3 writes its mode in plain text behind a token, which alone would mean nothing."""
    with pytest.raises(TemplateError, match="begins and ends"):
        without(FORMATS["hunyuan 3"].made()).answer_prompt(QUESTION)


def test_a_conversation_keeps_the_system_message_that_it_brings() -> None:
    template = FORMATS["qwen 1.5"].made()
    brought = [SYSTEM, *QUESTION]
    assert without(template).answer_prompt(brought) == template.answer_prompt(brought)


def test_a_merged_system_message_stays_where_the_template_s_own_is_left_out() -> None:
    template = replace(FORMATS["qwen 1.5"].made(), merge_system_message=True)
    brought = [SYSTEM, *QUESTION]
    assert "You are a helpful assistant" in template.answer_prompt(brought).text
    expected = "<|im_start|>user\nBe brief.\n\nWhy?<|im_end|>\n<|im_start|>assistant\n"
    assert without(template).answer_prompt(brought).text == expected


def test_the_probe_of_the_header_alone_has_no_system_prompt() -> None:
    template = without(FORMATS["qwen 1.5"].made())
    assert template.probe_prompt([], None).text + template.left_to_the_model == (
        "<|im_start|>user\n"
    )


def test_a_given_system_prompt_replaces_the_template_s_own_and_no_message() -> None:
    template = replace(FORMATS["qwen 1.5"].made(), system="Answer in French.")
    prompt = template.answer_prompt(QUESTION).text
    assert prompt == (
        "<|im_start|>system\nAnswer in French.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    brought = template.answer_prompt([SYSTEM, *QUESTION]).text
    assert "Be brief." in brought and "French" not in brought


def test_a_given_system_prompt_is_merged_into_the_user_s_message() -> None:
    template = replace(
        FORMATS["gemma 3"].made(), system="Answer in French.", merge_system_message=True
    )
    prompt = template.answer_prompt(QUESTION).text
    assert prompt.startswith("<bos><start_of_turn>user\nAnswer in French.\n\nWhy?<end_of_turn>")
