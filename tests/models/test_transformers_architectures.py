"""Architectures that are loaded or batched in a way of their own write what transformers writes."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from benchmarks import transformers_on_gpu
from benchmarks.transformers_on_gpu import ON_CPU, Row
from tests.support.snakemake_runs import ROOT
from userturn.models.transformers import _one_token_states
from userturn.models.whole_model import whole_model

TEXT = {
    "vocab_size": ON_CPU.vocabulary,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 4096,
    "initializer_range": 0.15,
}
EYES = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "head_dim": 32,
}
PIXELS = EYES | {"model_type": "pixtral", "image_size": 28, "patch_size": 14}


def mistral_3() -> Any:
    text = transformers.MistralConfig(num_hidden_layers=2, sliding_window=None, **TEXT)
    return _mistral(text.to_dict() | {"model_type": "mistral"})


def ministral_3() -> Any:
    text = transformers.Ministral3Config(num_hidden_layers=2, **TEXT)
    return _mistral(text.to_dict() | {"model_type": "ministral3"})


def _mistral(text: dict[str, Any]) -> Any:
    config = transformers.Mistral3Config(
        text_config=text, vision_config=PIXELS, image_token_index=10
    )
    return transformers.Mistral3ForConditionalGeneration(config)


def gemma_4() -> Any:
    """Six of its twelve layers take keys and values of an earlier one."""
    text = transformers.Gemma4TextConfig(
        num_hidden_layers=12,
        num_kv_shared_layers=6,
        sliding_window=32,
        hidden_size_per_layer_input=16,
        vocab_size_per_layer_input=ON_CPU.vocabulary,
        global_head_dim=32,
        tie_word_embeddings=False,
        **TEXT,
    )
    config = transformers.Gemma4Config(
        text_config=text.to_dict(),
        vision_config=EYES | {"num_key_value_heads": 1},
        audio_config=None,
    )
    return transformers.Gemma4ForConditionalGeneration(config)


def row_of(model: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Row:
    """Return what the engine writes and scores, beside the model's own class in float32."""
    model.to(torch.bfloat16).save_pretrained(folder)

    def loaded(folder: Path, dtype: str) -> Any:
        return type(model).from_pretrained(folder, dtype=dtype).eval()

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(transformers_on_gpu, "loaded", loaded)
    return transformers_on_gpu.tried("tiny", "float32", ON_CPU, folder)


@pytest.mark.parametrize("make", [mistral_3, ministral_3, gemma_4])
def test_text_of_a_class_for_text_and_images_is_that_of_its_own_forward_pass(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    assert row_of(make(), tmp_path, monkeypatch).faults == []


def test_layers_that_share_keys_do_not_keep_a_model_from_running_in_batches(tmp_path: Path) -> None:
    gemma_4().save_pretrained(tmp_path)
    of_one_token = _one_token_states(whole_model(tmp_path, dtype="float32"))
    assert of_one_token is not None
    assert len(of_one_token) == 6


def nemotron_h(is_dense: bool = False) -> Any:
    """A hybrid whose config has no `layer_types`."""
    config = transformers.NemotronHConfig(
        layers_block_type=["mamba", "attention"]
        if is_dense
        else ["mamba", "moe", "attention", "moe"],
        ssm_state_size=32,
        mamba_num_heads=4,
        mamba_head_dim=32,
        n_groups=2,
        expand=2,
        chunk_size=32,
        n_routed_experts=4,
        moe_intermediate_size=32,
        moe_shared_expert_intermediate_size=32,
        pad_token_id=0,
        **TEXT,
    )
    return transformers.NemotronHForCausalLM(config)


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")
def test_hybrid_is_known_to_vllm_whatever_its_config_calls_its_layers(tmp_path: Path) -> None:
    """On a CPU, where prompts are not read in chunks, it has no prefix caching."""
    nemotron_h(is_dense=True).save_pretrained(tmp_path)  # vLLM has no such experts on a CPU
    settings = {"dtype": "float32", "max_model_len": 64, "enable_prefix_caching": True}
    code = (
        "import json; from pathlib import Path; from userturn.models.vllm import start_vllm; "
        f"llm = start_vllm(Path({str(tmp_path)!r}), {settings}); "
        "print(json.dumps(llm.llm_engine.vllm_config.cache_config.enable_prefix_caching))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) is False
