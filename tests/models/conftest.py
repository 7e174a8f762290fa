"""Fixtures: the template of a tiny model, made once for all tests of this folder."""

from typing import Any

import pytest

from tests.support.tiny_model import write_tiny_model
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    entry: Any = {"enable_thinking": False}
    folder = write_tiny_model(tmp_path_factory.mktemp("template") / "model")
    return load_template(folder, entry, "2026-04-02")
