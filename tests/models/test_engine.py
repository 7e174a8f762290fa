"""The engines on a real small model: vLLM writes what transformers writes, whatever the order."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.models.engine import load_engine

pytestmark = pytest.mark.slow


def test_greedy_tokens_of_vllm_are_those_of_transformers(made: dict[str, Any]) -> None:
    vllm, oracle = made["vllm"], made["transformers"]["forwards"]
    assert len(oracle) == 6
    assert {key: vllm["forwards"][key] for key in vllm["greedy"]} == oracle


def test_order_of_the_requests_does_not_change_their_tokens(made: dict[str, Any]) -> None:
    vllm = made["vllm"]
    assert len(vllm["forwards"]) == 12
    assert vllm["backwards"] == vllm["forwards"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"hidden_size": 8},
            "cannot load .*; check that the model's files are complete and of one",
        ),
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
