"""Tiny models of the real architectures: random weights, the family's tokens and template."""

from pathlib import Path
from typing import Any

from tests.support import family_templates as families

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 2048,
    "initializer_range": 0.15,
}
LINEAR = {
    "num_hidden_layers": 4,
    "linear_key_head_dim": 128,  # the only head size that vLLM's kernel for processors takes
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "tie_word_embeddings": False,
}
EXPERTS = {"moe_intermediate_size": 32, "num_experts_per_tok": 2}
QWEN_EXPERTS = EXPERTS | {"shared_expert_intermediate_size": 32, "num_experts": 8}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 150000.0,
    "factor": 32.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_max_position_embeddings": 4096,
}


def _qwen35(n_tokens: int, tokenizer: Any) -> Any:
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    return Qwen3_5ForCausalLM(Qwen3_5TextConfig(vocab_size=n_tokens, **SIZES | LINEAR))


def _qwen35_moe(n_tokens: int, tokenizer: Any) -> Any:
    """The class of the hub's checkpoints, which can see."""
    from transformers import (
        Qwen3_5MoeConfig,
        Qwen3_5MoeForConditionalGeneration,
        Qwen3_5MoeTextConfig,
    )

    text = Qwen3_5MoeTextConfig(vocab_size=n_tokens, **SIZES | LINEAR | QWEN_EXPERTS)
    ids = {
        f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<|{token}|>")
        for name, token in (
            ("image", "image_pad"),
            ("video", "video_pad"),
            ("vision_start", "vision_start"),
            ("vision_end", "vision_end"),
        )
    }
    vision = {"depth": 2, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2}
    vision |= {"out_hidden_size": 64, "num_position_embeddings": 64}
    config = Qwen3_5MoeConfig(
        text_config=text.to_dict(), vision_config=vision, tie_word_embeddings=False, **ids
    )
    return Qwen3_5MoeForConditionalGeneration(config)


def _gpt_oss(n_tokens: int, tokenizer: Any) -> Any:
    from transformers import GptOssConfig, GptOssForCausalLM

    return GptOssForCausalLM(
        GptOssConfig(
            vocab_size=n_tokens,
            num_hidden_layers=2,
            num_local_experts=4,
            num_experts_per_tok=2,
            sliding_window=128,
            rope_parameters=YARN,
            **SIZES | {"intermediate_size": 64},
        )
    )


def _glm(n_tokens: int, tokenizer: Any) -> Any:
    from transformers import Glm4MoeConfig, Glm4MoeForCausalLM

    return Glm4MoeForCausalLM(
        Glm4MoeConfig(
            vocab_size=n_tokens,
            num_hidden_layers=3,
            n_routed_experts=8,
            first_k_dense_replace=1,
            use_qk_norm=True,
            num_mtp_layers=0,
            **SIZES | EXPERTS,
        )
    )


def _qwen_tokenizer() -> Any:
    return families.small_tokenizer(
        families.shipped("qwen3_5_nothink"),
        families.QWEN,
        families.QWEN_PLAIN,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
    )


def _gpt_oss_tokenizer() -> Any:
    return families.small_tokenizer(
        families.shipped("gptoss"),
        families.HARMONY,
        bos_token="<|startoftext|>",
        eos_token="<|return|>",
        pad_token="<|endoftext|>",
    )


def _glm_tokenizer() -> Any:
    return families.small_tokenizer(
        families.GLM47_TEMPLATE,
        families.GLM,
        families.GLM_PLAIN,
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )


# Model, tokenizer, and the ends that the vendor's generation_config.json names.
FAMILIES = {
    "qwen3.5": (_qwen35, _qwen_tokenizer, ["<|im_end|>", "<|endoftext|>"]),
    "qwen3.5-moe": (_qwen35_moe, _qwen_tokenizer, ["<|im_end|>", "<|endoftext|>"]),
    "gpt-oss": (_gpt_oss, _gpt_oss_tokenizer, ["<|return|>", "<|endoftext|>", "<|call|>"]),
    "glm": (_glm, _glm_tokenizer, ["<|endoftext|>", "<|user|>", "<|observation|>"]),
}


def write_family(name: str, folder: Path) -> Path:
    """Write a tiny model of a family as `save_pretrained` would a large one."""
    import torch
    from transformers import GenerationConfig

    make_model, make_tokenizer, ends = FAMILIES[name]
    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    model = make_model((len(tokenizer) + 63) // 64 * 64, tokenizer).to(torch.float32)
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.convert_tokens_to_ids(ends), pad_token_id=tokenizer.pad_token_id
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
