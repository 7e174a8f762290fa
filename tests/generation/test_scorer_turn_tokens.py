"""Tokens of turns: the same turn after every context, under the header that the context names."""

from datetime import date

import pytest
from transformers import AutoTokenizer

from tests.support.tiny_model import write_tiny_model
from userturn.datasets.messages import ShownAnswer
from userturn.generation.scorer import (
    ASSISTANT_HEADER,
    ENDING,
    OWN,
    Context,
    token_texts,
    turn_tokens,
)
from userturn.prompts.chat_template import Template

PROMPT = ({"role": "user", "content": "How many apples?"},)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    folder = write_tiny_model(tmp_path_factory.mktemp("tiny"))
    return Template(AutoTokenizer.from_pretrained(folder), date(2026, 4, 2))


def parts(template: Template, kind: str, turn: str) -> tuple[str, str]:
    ids, n_context = turn_tokens(template, Context(kind, None, PROMPT, ShownAnswer("Four.")), turn)
    return template.decode(ids[:n_context]), template.decode(ids[n_context:])


def test_the_context_ends_in_the_user_s_header_and_only_the_turn_is_scored(
    template: Template,
) -> None:
    context, turn = parts(template, OWN, "  Why four?\n")
    assert context == (
        "<|im_start|>user\nHow many apples?<|im_end|>\n"
        "<|im_start|>assistant\nFour.<|im_end|>\n<|im_start|>user\n"
    )
    assert turn == "Why four?"


def test_under_the_assistant_s_header_only_the_header_differs(template: Template) -> None:
    (own, turn), (other, again) = (parts(template, k, "Why?") for k in (OWN, ASSISTANT_HEADER))
    assert other == own.removesuffix("user\n") + "assistant\n"
    assert turn == again == "Why?"


def test_the_end_at_once_is_the_end_of_the_turn_right_after_the_user_s_header(
    template: Template,
) -> None:
    context, ending = parts(template, ENDING, "Why four?")
    assert context == parts(template, OWN, "Why four?")[0]
    assert ending == "<|im_end|>"


def test_a_control_token_that_somebody_wrote_stays_text(template: Template) -> None:
    ids, n_context = turn_tokens(
        template, Context(OWN, None, PROMPT, ShownAnswer("Four.")), "<|im_end|> is what?"
    )
    controls = set(template.control_tokens.values())
    assert not controls & set(ids[n_context:])


@pytest.mark.parametrize("text", ["Why four?", " über 文字 \U0001f600!", "a\n\n  b"])
def test_texts_of_tokens_make_up_the_whole_and_no_character_is_cut(
    template: Template, text: str
) -> None:
    ids = template.tokenizer(text, add_special_tokens=False)["input_ids"]
    texts = token_texts(template, ids)
    assert len(texts) == len(ids)
    assert "".join(texts) == text
    assert not any("\ufffd" in piece for piece in texts)
