"""Each turn is learnt after the prompt that it is given for, with its end, and nothing else is."""

from datetime import date
from typing import Any

import pytest

from tests.support import family_templates as families
from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template
from userturn.training.learnt_turns import IGNORED, held_out, learnt_turn, learnt_turns

TODAY = date(2026, 4, 2)
TALK = [
    {"role": "user", "content": "How many?"},
    {"role": "assistant", "content": "The answer is 12."},
    {"role": "user", "content": "What next?"},
    {"role": "assistant", "content": "Nothing."},
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    folder = write_tiny_model(tmp_path_factory.mktemp("models") / "tiny")
    return load_template(folder, {"enable_thinking": False}, str(TODAY))


def parts(template: Template, row: dict[str, Any]) -> tuple[list[int], str]:
    """The ids that are read, and the text that is learnt, which must be the rest of the row."""
    n_read = row["labels"].count(IGNORED)
    assert row["labels"][n_read:] == row["input_ids"][n_read:]
    return row["input_ids"][:n_read], template.decode(row["input_ids"][n_read:])


def learnt(template: Template, loss_on: list[str], talk: Any = TALK) -> list[str]:
    rows, reasons = learnt_turns(template, [talk], loss_on, 999)
    assert reasons == {}
    return [parts(template, row)[1] for row in rows]


def test_each_answer_is_a_row_with_the_end_of_its_turn(template: Template) -> None:
    assert learnt(template, ["assistant"]) == ["The answer is 12.<|im_end|>", "Nothing.<|im_end|>"]


def test_of_the_user_only_turns_after_an_answer_are_learnt(template: Template) -> None:
    assert learnt(template, ["user"]) == ["What next?<|im_end|>"]


# Of trl's templates one of each form: marks for reasoning, channels, roles in words, no end of a
# turn but the next one's beginning.
SHIPPED = {
    "qwen3_5_nothink": ({"enable_thinking": False}, "<|im_end|>"),
    "qwen3_5_think": ({"enable_thinking": False}, "<|im_end|>"),
    "qwen3": ({"enable_thinking": False}, "<|im_end|>"),
    "qwen2_5": ({}, "<|im_end|>"),
    "llama3": ({}, "<|eot_id|>"),
    "llama3_2": ({}, "<|eot_id|>"),
    "gemma3": ({}, "<end_of_turn>"),
    "glm4moe": ({"enable_thinking": False}, "<|user|>"),
    "gptoss": ({}, "<|end|>"),
    "phi3": ({}, "<|end|>"),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_read_before_a_turn_is_the_studys_prompt_for_it(name: str) -> None:
    options, end = SHIPPED[name]
    made = Template(families.of_family(name), TODAY, options)
    for place in (1, 3):
        read, said = parts(made, learnt_turn(made, TALK[: place + 1]))
        assert tuple(read) == made.answer_prompt(TALK[:place]).token_ids
        assert said.endswith(TALK[place]["content"] + end)
    read, said = parts(made, learnt_turn(made, TALK[:3]))
    assert tuple(read) == made.probe_prompt(TALK[:1], TALK[1]["content"]).token_ids
    assert said.lstrip("\n").startswith(TALK[2]["content"])


def test_channel_that_a_model_writes_before_its_answer_is_learnt() -> None:
    made = Template(families.of_family("gptoss"), TODAY, {})
    _, said = parts(made, learnt_turn(made, TALK[:2]))
    assert said == "<|channel|>final<|message|>The answer is 12.<|end|>"


def test_answers_of_a_model_that_reasons_first_are_refused() -> None:
    made = Template(families.of_family("qwen3_5_think"), TODAY, {"enable_thinking": True})
    with pytest.raises(UserError, match="nothing to learn: the chat template opens reasoning"):
        learnt_turns(made, [TALK], ["assistant"], 999)


def test_turn_that_quotes_a_special_token_is_left_out_and_counted(template: Template) -> None:
    quoting = [TALK[0], {"role": "assistant", "content": "It is <|im_end|>"}]
    rows, reasons = learnt_turns(template, [TALK, quoting, quoting], ["assistant"], 999)
    assert len(rows) == 2
    assert reasons == {"a message holds a special token of the model; leave that row out": 2}


def test_row_that_is_too_long_is_cut_and_counted_or_left_out(template: Template) -> None:
    whole, _ = learnt_turns(template, [TALK], ["assistant"], 999)
    short, long = (len(row["input_ids"]) for row in whole)
    n_read = whole[1]["labels"].count(IGNORED)
    rows, reasons = learnt_turns(template, [TALK], ["assistant"], long - 1)
    assert [len(row["labels"]) for row in rows] == [short, long - 1]
    assert reasons == {f"longer than {long - 1} tokens, cut": 1}
    assert len(learnt_turns(template, [TALK], ["assistant"], n_read)[0]) == 1


def test_share_of_the_conversations_is_held_out_whatever_their_order() -> None:
    rows = [{"conversation": str(i)} for i in range(40)]
    found = held_out(rows, {"sft": {"validation": 0.1}})
    assert len(found) == 4 and held_out(rows[::-1], {"curve": {"items": 4}}) == found
    assert held_out(rows, {}) == set()


def test_data_without_a_turn_to_learn_is_refused(template: Template) -> None:
    with pytest.raises(UserError, match="nothing to learn: there is no turn of user after another"):
        learnt_turns(template, [TALK[:2]], ["user"], 999)
