"""The prompts of vLLM's OpenAI server, from its own renderer, are the same token ids as ours."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.chat_formats import Format, all_formats
from userturn.prompts.chat_template import Template

pytestmark = pytest.mark.slow  # importing vLLM takes seconds

QUESTION = [{"role": "user", "content": 'What is 2 + 2?\nIs it < 5 & isn\'t it "four"?'}]
CONVERSATION = [
    *QUESTION,
    {"role": "assistant", "content": "Ünal says:\n\n1. four"},
    {"role": "user", "content": "为什么?"},
]
DERIVED = [  # a vendor's whole vocabulary takes seconds to load, and both read with the same one
    pytest.param(one, id=one.name, marks=[pytest.mark.long] if one.has_own_vocabulary else [])
    for one in all_formats()
    if not one.is_refused
]
# vLLM's settings of a model that only its weights and its images hang on.
SETTINGS = SimpleNamespace(
    model="m",
    tokenizer="m",
    revision=None,
    code_revision=None,
    tokenizer_revision=None,
    trust_remote_code=False,
    multimodal_config=None,
    enable_prompt_embeds=False,
)


@pytest.fixture(scope="module")
def vllm() -> SimpleNamespace:
    """What vLLM's server makes a prompt with."""
    hf = pytest.importorskip("vllm.renderers.hf", reason="needs vLLM")
    from vllm.renderers.chat_utils import parse_chat_messages
    from vllm.renderers.params import ChatParams

    return SimpleNamespace(hf=hf, parse=parse_chat_messages, params=ChatParams)


@pytest.fixture(scope="module", params=DERIVED)
def template(request: pytest.FixtureRequest) -> Iterator[Template]:
    one: Format = request.param
    yield one.made()


def rendered_by_vllm(vllm: Any, template: Template, messages: list[dict[str, str]]) -> list[int]:
    """Return the token ids with which vLLM's server would ask for the next answer."""
    tokenizer, text = template.tokenizer, template.tokenizer.chat_template
    form = vllm.hf.resolve_chat_template_content_format(
        text, None, "auto", tokenizer, model_config=SETTINGS
    )
    conversation, _, _ = vllm.parse(messages, SETTINGS, form)
    options = {**template.options, "strftime_now": template.today.strftime}
    params = vllm.params(text, "auto", {**options, "add_generation_prompt": True})
    arguments = params.get_apply_chat_template_kwargs() | {"return_dict": False}
    return list(vllm.hf.safe_apply_chat_template(SETTINGS, tokenizer, conversation, **arguments))


def test_prompt_of_the_answer_is_vllm_s(vllm: Any, template: Template) -> None:
    ours = template.answer_prompt(CONVERSATION).token_ids
    assert list(ours) == rendered_by_vllm(vllm, template, CONVERSATION)


def test_probe_begins_what_vllm_renders_of_the_next_message(vllm: Any, template: Template) -> None:
    answer = "Ünal says:\n\n1. four"
    ours = template.probe_prompt(QUESTION, answer).token_ids
    theirs = rendered_by_vllm(vllm, template, CONVERSATION)
    assert theirs[: len(ours)] == list(ours)
