"""Fixtures, made once for all tests: a tiny template, and what engines do with the demo's model."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    entry: Any = {"enable_thinking": False}
    folder = write_tiny_model(tmp_path_factory.mktemp("template") / "model")
    return load_template(folder, entry, "2026-04-02")


@pytest.fixture(scope="session")
def demo_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `engines_once` fills, by whichever of the test processes needs it first."""
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM does not install on this machine")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "demo_model"
    with FileLock(f"{folder}.lock"):
        if not (folder / "made.json").exists():
            command = [sys.executable, "-m", "tests.support.engines_once", folder]
            done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
            assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def made(demo_model: Path) -> dict[str, Any]:
    """Completions and scores of the demo's model by each engine."""
    return dict(json.loads((demo_model / "made.json").read_text()))
