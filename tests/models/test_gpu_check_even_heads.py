"""A model with one more group of heads, all zeros, writes the same."""

import json
from pathlib import Path

from userturn.models.gpu_check import write_with_even_heads


def test_nine_heads_of_three_groups_become_twelve_and_no_logit_changes(tmp_path: Path) -> None:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=50,
        hidden_size=36,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=9,
        num_key_value_heads=3,
        initializer_range=0.4,
    )
    folder = tmp_path / "nine"
    LlamaForCausalLM(config).save_pretrained(folder)
    grown = write_with_even_heads(folder, tmp_path / "twelve")
    text = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        nine, twelve = (LlamaForCausalLM.from_pretrained(one)(text) for one in (folder, grown))
    assert torch.allclose(nine.logits, twelve.logits, atol=1e-5)
    found = json.loads((grown / "config.json").read_text())
    assert (found["num_attention_heads"], found["num_key_value_heads"]) == (12, 4)
    assert found["head_dim"] == 4  # 36 over nine heads, as before
