"""Blocks that GPUs cut through are refused, and those that vLLM refines or never cuts are not."""

import json
from pathlib import Path
from typing import Any

import pytest

from userturn.models.engine_setup import Setup
from userturn.models.setup_gpus import refusals_of_blocks

FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
DENSE = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 2,
    "vocab_size": 300,
    "intermediate_size": 384,
    "max_position_embeddings": 1024,
}
EXPERTS = DENSE | {"num_experts": 64, "moe_intermediate_size": 1536}
LAYERS = [f"model.layers.{i}.mlp.down_proj" for i in range(2)]


def refused(folder: Path, config: dict[str, Any], gpus: int, **said: Any) -> list[str]:
    config = {"quantization_config": FP8 | said} | config
    (folder / "config.json").write_text(json.dumps(config))
    return [*refusals_of_blocks(Setup("it", "vllm", folder, gpus=gpus))]


# 384 columns on two GPUs are 192 each, one block of 128 and a half; of one GPU nothing is cut.
@pytest.mark.parametrize(
    ("gpus", "said", "n"),
    [
        (2, {}, 1),
        (1, {}, 0),
        (2, {"modules_to_not_convert": LAYERS}, 0),
        (2, {"ignored_layers": ["mlp"]}, 0),
        (2, {"modules_to_not_convert": LAYERS[:1]}, 1),  # the other layer has blocks
        (2, {"modules_to_not_convert": ["lm_head", "model.layers.0.mlp.gate"]}, 1),
    ],
)
def test_modules_that_are_not_converted_have_no_blocks(
    gpus: int, said: dict[str, Any], n: int, tmp_path: Path
) -> None:
    assert len(refused(tmp_path, DENSE, gpus, **said)) == n


# By hand, of 8 GPUs: 1536 gives 192, and 64 divides 192, 128 and 1024, at least 32: refined.
# 1408 gives 176, and the largest divisor of 176 and 128 is 16: refused. 1024 gives 128: whole.
@pytest.mark.parametrize(("width", "n"), [(1536, 0), (1408, 1), (1024, 0)])
def test_blocks_of_experts_are_refined_where_a_block_of_32_or_more_fits(
    width: int, n: int, tmp_path: Path
) -> None:
    config = EXPERTS | {"moe_intermediate_size": width}
    assert len(refused(tmp_path, config, 8)) == n
    kept = [f"model.layers.{i}.mlp.experts" for i in range(2)]
    assert not refused(tmp_path, config, 8, modules_to_not_convert=kept)
