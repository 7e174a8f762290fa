"""Whether a model thinks is read off its prompts, and said where it contradicts the entry."""

from dataclasses import replace
from datetime import date

import pytest

from tests.support.chat_formats import all_formats
from tests.support.family_templates import QWEN, small_tokenizer
from userturn.generation.reasoning import Answer, read_answer
from userturn.prompts.chat_template import Template
from userturn.prompts.reasoning import CHOICE, NONE, OFF, ON, contradiction, thinking_state

FORMATS = {one.name: one for one in all_formats()}


def made(name: str, **options: object) -> Template:
    template = FORMATS[name].made()
    return replace(template, options={**template.options, **options})


# By hand, from the end of each template.
STATES = [
    ("qwen 3.8", {"enable_thinking": True}, ON),
    ("qwen 3.8", {"enable_thinking": False}, OFF),
    ("seed oss", {}, CHOICE),
    ("minimax m2", {}, ON),
    ("kimi k3", {"thinking": True}, ON),
    ("kimi k3", {"thinking": False}, OFF),
    ("qwen 2.5 vl", {}, NONE),
    ("phi 4", {}, NONE),
]


@pytest.mark.parametrize(("name", "options", "state"), STATES)
def test_state_is_what_the_prompt_for_an_answer_opens(
    name: str, options: dict[str, object], state: str
) -> None:
    assert thinking_state(made(name, **options)) == state


def test_model_that_thinks_although_it_is_told_not_to_names_its_own_switch() -> None:
    template = made("kimi k3", enable_thinking=False, thinking=True)
    said = contradiction(template, thinking_state(template))
    assert said is not None
    assert "`enable_thinking` is false, and the prompts for answers open reasoning" in said
    assert "'thinking'" in said and "template_options" in said


def test_model_without_a_switch_is_told_what_to_say() -> None:
    template = made("minimax m2", enable_thinking=False)
    said = contradiction(template, thinking_state(template))
    assert said is not None and said.endswith("say `enable_thinking: true` in the model's entry")
    assert "template_options" not in said


@pytest.mark.parametrize(("name", "thinking"), [("qwen 3.8", True), ("qwen 3.8", False)])
def test_model_that_does_as_it_is_told_contradicts_nothing(name: str, thinking: bool) -> None:
    template = made(name, enable_thinking=thinking)
    assert contradiction(template, thinking_state(template)) is None


CLOSES = (
    "{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}\n"
    "{{{{ m.content.split('{end}')[-1] if m.role == 'assistant' else m.content }}}}<|im_end|>\n"
    "{{% endfor %}}{{% if add_generation_prompt %}}<|im_start|>assistant\n{opens}{{% endif %}}"
)


@pytest.mark.parametrize(
    ("opens", "end"),
    [
        ("<ponder>\n", "</ponder>"),
        ("", "</ponder>"),
        ("[MUSE]", "[/MUSE]"),
        ("Thus I think:", "QED."),
    ],
)
def test_reasoning_that_only_history_cuts_out_is_known_by_where_it_is_cut(
    opens: str, end: str
) -> None:
    tokenizer = small_tokenizer(CLOSES.format(end=end, opens=opens), QWEN, eos_token="<|im_end|>")
    template = Template(tokenizer, date(2026, 4, 2), {})
    prompt = template.answer_prompt([{"role": "user", "content": "Two and two?"}]).text
    begin = "" if opens else "<ponder>"
    raw = f"{begin}2 + 2{end}Four."
    for n in range(1, len(raw) + 1):
        answer = read_answer(raw[:n], prompt, (), template.answer_layout)
        assert "2" not in answer.text and "Four.".startswith(answer.text), raw[:n]
    assert answer == Answer("Four.", "2 + 2")
    assert thinking_state(template) == (ON if opens else CHOICE)
