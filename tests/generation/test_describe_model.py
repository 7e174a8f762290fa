"""A model is described as it is, and refused where what it would be shown is not true."""

from pathlib import Path

import pytest

from tests.support.tiny_grid import tiny_grid
from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError

KEEPS = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
    "{{ m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def test_self_play_that_would_lose_the_reasoning_of_history_is_refused(tmp_path: Path) -> None:
    (write_tiny_model(tmp_path / "model") / "chat_template.jinja").write_text(KEEPS)
    run = {"datasets": ["items"], "temperatures": [0], "perturbations": ["none"]}
    grid = tiny_grid(tmp_path, 2, run=run)  # a single answer keeps its own
    assert grid.results.joinpath("models/tiny.json").is_file()
    with pytest.raises(UserError, match="self-play would show 'tiny' its earlier answers without"):
        tiny_grid(tmp_path, 2, run=run, self_play={"turns": 2, "datasets": ["items"]})
