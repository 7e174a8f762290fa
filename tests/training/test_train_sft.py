"""Which tokens a supervised training learns, and which places reinforcement draws turns for."""

from datetime import date
from typing import Any

import pytest

from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template
from userturn.training.grpo import tasks
from userturn.training.train import IGNORED, labelled, labelled_rows

ENTRY = {"enable_thinking": False}
TALK = [
    {"role": "user", "content": "How many?"},
    {"role": "assistant", "content": "The answer is 12."},
    {"role": "user", "content": "What next?"},
    {"role": "assistant", "content": "Nothing."},
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    folder = write_tiny_model(tmp_path_factory.mktemp("models") / "tiny")
    return load_template(folder, ENTRY, str(date(2026, 4, 2)))


def learnt(template: Template, loss_on: list[str], talk: Any = TALK) -> list[str]:
    """The texts that are learnt, those of neighbouring tokens together."""
    row = labelled(template, talk, loss_on)
    runs: list[list[int]] = [[]]
    for token, label in zip(row["input_ids"], row["labels"], strict=True):
        if label == IGNORED:
            runs.append([])
        else:
            assert label == token
            runs[-1].append(token)
    return [template.decode(run) for run in runs if run]


def test_only_answers_and_the_ends_of_their_turns_are_learnt(template: Template) -> None:
    expected = ["The answer is 12.<|im_end|>", "Nothing.<|im_end|>"]
    assert learnt(template, ["assistant"]) == expected


def test_of_the_user_only_turns_after_an_answer_are_learnt(template: Template) -> None:
    assert learnt(template, ["user"]) == ["What next?<|im_end|>"]


def test_tokens_are_those_that_the_study_prompts_with(template: Template) -> None:
    row = labelled(template, TALK, ["assistant"])
    prompt = template.probe_prompt(TALK[:1], TALK[1]["content"]).token_ids
    assert tuple(row["input_ids"][: len(prompt)]) == prompt


def test_row_that_quotes_a_special_token_is_left_out(template: Template) -> None:
    quoting = [TALK[0], {"role": "assistant", "content": "It is <|im_end|>"}]
    assert len(labelled_rows(template, [TALK, quoting], ["assistant"])) == 1


def test_data_without_a_turn_to_learn_is_refused(template: Template) -> None:
    with pytest.raises(UserError, match="no turn of user to learn"):
        labelled_rows(template, [TALK[:2]], ["user"])


def test_probe_is_drawn_after_each_answer_and_an_answer_after_each_question(
    template: Template,
) -> None:
    rows = [{"messages": TALK, "reference_answer": "12", "goal": None}]
    probes = tasks(template, rows, "user", 99)
    assert [task.prompt.text.endswith("<|im_start|>user\n") for task in probes] == [True, True]
    assert [len(task.messages) for task in probes] == [2, 4]
    assert probes[0].prompt == template.probe_prompt(TALK[:1], TALK[1]["content"])
    assert [len(task.messages) for task in tasks(template, rows, "assistant", 99)] == [1, 3]
