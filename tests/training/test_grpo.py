"""Places for which reinforcement draws turns."""

from pathlib import Path

from tests.support.tiny_model import write_tiny_model
from tests.training.test_learnt_turns import TALK
from userturn.prompts.load_template import load_template
from userturn.training.grpo import tasks


def test_probe_is_drawn_after_each_answer_and_an_answer_after_each_question(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "tiny")
    template = load_template(folder, {"enable_thinking": False}, "2026-04-02")
    rows = [{"messages": TALK, "reference_answer": "12", "goal": None}]
    probes = tasks(template, rows, "user", 99)
    assert [task.prompt.text.endswith("<|im_start|>user\n") for task in probes] == [True, True]
    assert [len(task.messages) for task in probes] == [2, 4]
    assert probes[0].prompt == template.probe_prompt(TALK[:1], TALK[1]["content"])
    assert [len(task.messages) for task in tasks(template, rows, "assistant", 99)] == [1, 3]
