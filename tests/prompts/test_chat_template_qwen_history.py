"""Qwen's history in a probe is what its template renders of the answers that it generated."""

from dataclasses import replace
from functools import lru_cache

import pytest

from tests.support.chat_formats import all_formats
from userturn.generation.reasoning import read_answer
from userturn.prompts.chat_template import Template

pytestmark = pytest.mark.slow  # Qwen's vocabularies take seconds to load

QUESTION = [{"role": "user", "content": "What is two and two?"}]
NEXT = {"role": "user", "content": "But why?"}


@lru_cache(maxsize=1)
def template(name: str) -> Template:
    return next(one for one in all_formats() if one.name == name).made()


def rendered(made: Template, answer: str) -> list[int]:
    history = [*QUESTION, {"role": "assistant", "content": answer}, NEXT]
    return list(made.tokenizer(made.render(history), add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize("name", ["qwen 2.5", "qwen 3", "qwen 3.5"])
def test_the_line_break_that_no_answer_ends_in_stands_in_history(name: str) -> None:
    """A generated answer ends at <|im_end|>; the template goes on with a line break."""
    made = template(name)
    probe = made.probe_prompt(QUESTION, "Four.")
    assert "Four.<|im_end|>\n<|im_start|>user" in probe.text
    line_break = made.encoder.encode_whole("\n")
    end, begin = (made.control_tokens[token] for token in ("<|im_end|>", "<|im_start|>"))
    last = len(probe.token_ids) - 1 - list(reversed(probe.token_ids)).index(begin)
    assert list(probe.token_ids[last - 2 : last]) == [end, *line_break]
    assert rendered(made, "Four.")[: len(probe.token_ids)] == list(probe.token_ids)


@pytest.mark.parametrize("name", ["qwen 3", "qwen 3.5"])
def test_reasoning_is_dropped_from_history_as_the_template_drops_it(name: str) -> None:
    made = template(name)
    generation = made.answer_prompt(QUESTION).text
    begin = "" if generation.endswith("<think>\n") else "<think>\n"
    raw = f"{begin}2 + 2\n</think>\n\nFour."
    ids = made.encoder.encode_whole(raw)
    answer = read_answer(raw, generation, ids, made.answer_layout)
    probe = made.probe_prompt(QUESTION, answer.text).token_ids
    whole = f"<think>\n{raw.removeprefix('<think>').lstrip()}"
    assert answer.reasoning == "2 + 2"
    assert rendered(made, whole)[: len(probe)] == list(probe)


@pytest.mark.parametrize(("name", "left"), [("qwen 2.5", "\n"), ("qwen 3", "\n"), ("qwen 3.5", "")])
def test_last_line_break_is_the_model_s_in_earlier_studies_where_a_message_may_begin_with_one(
    name: str, left: str
) -> None:
    """With its own vocabulary, the tokenizer makes one token of the header's and the message's."""
    made, header = template(name), "<|im_end|>\n<|im_start|>user\n"
    earlier = replace(made, is_shared=True)
    assert (earlier.user_header_text, earlier.left_to_the_model) == (
        header.removesuffix(left),
        left,
    )
    assert (made.user_header_text, made.left_to_the_model) == (header, "")
    two_breaks = made.encoder.encode_whole("\n\n")
    history = [*QUESTION, {"role": "assistant", "content": "Four."}]
    begun = made.render([*history, {"role": "user", "content": "\nWhy?"}])
    ids = made.encoder.encode_whole(begun[begun.rindex("<|im_start|>user") :])
    assert len(two_breaks) == 1
    assert (ids[2:3] == two_breaks) is (left == "\n")
