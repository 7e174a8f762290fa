"""A probe without an answer: the assistant's turn is empty, or left out, as the template has it."""

from datetime import date
from typing import Any

import pytest

from tests.support import family_templates as families
from userturn.prompts.chat_template import Template, TemplateError
from userturn.prompts.template_checks import prove, prove_missing_answer

TODAY = date(2026, 4, 2)
ITEM = [{"role": "user", "content": "Two and two?"}]
TURN = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
GENERATION = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
REFUSES_EMPTY = (
    "{% if m.role == 'assistant' and not m.content %}{{ raise_exception('empty') }}{% endif %}"
)
HIDES_EMPTY = "{% if m.content %}" + TURN + "{% endif %}"
ALTERNATES = (
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles') }}{% endif %}"
)


def made(body: str, **options: Any) -> Template:
    text = "{% for m in messages %}" + body + "{% endfor %}" + GENERATION
    tokenizer = families.small_tokenizer(text, families.QWEN, eos_token="<|im_end|>")
    return Template(tokenizer, TODAY, **options)


def of_family(name: str) -> Template:
    return Template(families.of_family(name), TODAY, {"enable_thinking": False})


EMPTY_TURNS = {  # what stands between the question and the user's next message
    "qwen3_5_think": "<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>user\n",
    "gptoss": "<|end|><|start|>assistant<|channel|>final<|message|><|end|><|start|>user<|message|>",
    "glm4moe": "/nothink<|assistant|>\n<think></think><|user|>\n",
    "llama3_1": "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n<|eot_id|>"
    "<|start_header_id|>user<|end_header_id|>\n\n",
    "gemma4_v5": "<turn|>\n<|turn>model\n<turn|>\n<|turn>user\n",
    "phi3": "<|end|>\n<|assistant|>\n<|end|>\n<|user|>\n",
}


@pytest.mark.parametrize("family", EMPTY_TURNS)
def test_families_show_an_empty_turn_of_the_assistant(family: str) -> None:
    template = of_family(family)
    text = template.probe_prompt(ITEM, None).text
    assert text.endswith(f"Two and two?{EMPTY_TURNS[family]}")
    follow = {"role": "user", "content": "And three?"}
    empty = {"role": "assistant", "content": ""}
    assert template.render([*ITEM, empty, follow]).startswith(text)
    assert "assistant's turn is empty" in prove_missing_answer(template)


@pytest.mark.parametrize("body", [REFUSES_EMPTY + TURN, HIDES_EMPTY])
def test_a_turn_is_left_out_where_the_template_refuses_or_hides_an_empty_one(body: str) -> None:
    template = made(body)
    shown = "<|im_start|>user\nTwo and two?<|im_end|>\n<|im_start|>user\n"
    assert template.probe_prompt(ITEM, None).text == shown
    assert "assistant's turn is left out" in prove_missing_answer(template)


def test_where_neither_can_be_shown_a_probe_without_an_answer_is_an_error() -> None:
    template = made(ALTERNATES + REFUSES_EMPTY + TURN)
    with pytest.raises(TemplateError, match="refuses a conversation of user, user"):
        template.probe_prompt(ITEM, None)
    assert prove_missing_answer(template) in prove(template)
    assert "ends in an error" in prove_missing_answer(template)


def test_a_header_by_hand_stands_behind_the_empty_turn() -> None:
    template = made(TURN, user_header="<|im_start|>user")
    text = template.probe_prompt(ITEM, None).text
    assert text.endswith("<|im_start|>assistant\n<|im_end|>\n<|im_start|>user")
