"""Tiny random checkpoints of real architectures, each with the chat format of its family.

Their generation_config.json has sampling defaults that would change every text if an engine took
them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.chat_formats import all_formats
from tests.support.tiny_families import EXPERTS, FAMILIES, LINEAR, QWEN_EXPERTS, SIZES

PLAIN = {name: value for name, value in SIZES.items() if name != "head_dim"}
WIDE = PLAIN | {"hidden_size": 128, "pad_token_id": 0}  # heads of 32, where they are not a choice
TWO, FOUR, WINDOW = {"num_hidden_layers": 2}, {"num_hidden_layers": 4}, {"sliding_window": 32}
LATENT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 32,
    "v_head_dim": 32,
    "initializer_range": 0.15,
    "max_position_embeddings": 2048,
}
LLAMA_3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
MAMBA = {"mamba_d_head": 32, "mamba_d_state": 32, "mamba_chunk_size": 32, "mamba_expand": 2}
EYES = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
EYES |= {"num_attention_heads": 1}
PIXELS = EYES | {"model_type": "pixtral", "image_size": 28, "patch_size": 14, "head_dim": 32}


class Tiny(NamedTuple):
    """How a checkpoint is made.

    Attributes:
        classes: what the names of its classes begin with: model and configuration.
        format: name of its chat format.
        sizes: of its text part.
        text: the text part's own class of configuration, if it is one of several parts.
        beside: the other parts.
    """

    classes: str
    format: str
    sizes: Mapping[str, Any]
    text: str = ""
    beside: Mapping[str, Any] = {}


TINY = {
    "llama 3.1": Tiny("Llama", "llama 3.1, 3.3", SIZES | TWO | {"rope_parameters": LLAMA_3}),
    "qwen 3": Tiny("Qwen3", "qwen 3", SIZES | TWO),
    "qwen 3 moe": Tiny("Qwen3Moe", "qwen 3 2507", SIZES | TWO | EXPERTS | {"num_experts": 8}),
    "qwen 3 next": Tiny("Qwen3Next", "qwen 3 2507", SIZES | LINEAR | QWEN_EXPERTS),
    "gemma 3 text": Tiny(
        "Gemma3", "gemma 3", SIZES | WINDOW | {"num_hidden_layers": 6}, "Gemma3TextConfig"
    ),
    "gemma 3": Tiny(
        "Gemma3",
        "gemma 3",
        SIZES | WINDOW | {"num_hidden_layers": 6},
        "Gemma3TextConfig",
        {"vision_config": EYES | {"image_size": 56, "patch_size": 14}, "mm_tokens_per_image": 4},
    ),
    "gemma 4": Tiny(
        "Gemma4",
        "gemma 3",
        SIZES
        | WINDOW
        | {"num_hidden_layers": 12, "num_kv_shared_layers": 6, "global_head_dim": 32}
        | {"hidden_size_per_layer_input": 16},
        "Gemma4TextConfig",
        {"vision_config": EYES | {"num_key_value_heads": 1, "head_dim": 32}, "audio_config": None},
    ),
    "mistral small 3": Tiny(
        "Mistral3",
        "mistral small 3",
        SIZES | TWO | {"sliding_window": None},
        "MistralConfig",
        {"vision_config": PIXELS, "image_token_index": 10},
    ),
    "ministral 3": Tiny(
        "Mistral3",
        "ministral 3 reasoning",
        SIZES | TWO,
        "Ministral3Config",
        {"vision_config": PIXELS, "image_token_index": 10},
    ),
    "deepseek v3": Tiny(
        "DeepseekV3",
        "deepseek v3",
        LATENT
        | EXPERTS
        | {"num_hidden_layers": 3, "first_k_dense_replace": 1, "n_routed_experts": 8}
        | {"n_group": 2, "topk_group": 1, "q_lora_rank": 32, "num_mtp_layers": 0}
        | {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
        | {"v_head_dim": 128}  # the published sizes, the only ones that vLLM takes
        | {"topk_method": "noaux_tc", "scoring_func": "sigmoid"},  # published keys that vLLM reads
    ),
    "olmo 2": Tiny("Olmo2", "olmo 2", WIDE | TWO),
    "olmo 3": Tiny("Olmo3", "olmo 3", WIDE | FOUR | WINDOW),
    "phi 4": Tiny("Phi3", "phi 4", WIDE | TWO),
    "smollm 3": Tiny("SmolLM3", "smollm 3", WIDE | FOUR),
    "nemotron h": Tiny(
        "NemotronH",
        "nemotron 3 nano",
        SIZES
        | {"layers_block_type": ["mamba", "moe", "attention", "moe"], "ssm_state_size": 32}
        | {"mamba_num_heads": 4, "mamba_head_dim": 32, "n_groups": 2, "expand": 2}
        | {"chunk_size": 32, "n_routed_experts": 4, "moe_intermediate_size": 32}
        | {"moe_shared_expert_intermediate_size": 32, "pad_token_id": 0},
    ),
    "granite 4": Tiny(
        "GraniteMoeHybrid",
        "granite 3.0",
        WIDE
        | FOUR
        | MAMBA
        | {"layer_types": ["mamba", "attention", "mamba", "attention"], "num_local_experts": 4}
        | {"shared_intermediate_size": 32, "mamba_n_heads": 8},
    ),
    "hunyuan": Tiny("HunYuanDenseV1", "hunyuan 3", SIZES | TWO | {"pad_token_id": 0}),
    "kimi linear": Tiny(
        "KimiLinear",
        "kimi k2",
        LATENT
        | FOUR
        | EXPERTS
        | {"layer_types": ["linear_attention"] * 3 + ["full_attention"], "pad_token_id": 0}
        | {"num_local_experts": 8, "linear_head_dim": 128, "linear_num_heads": 2},
    ),
    "minimax m2": Tiny(
        "MiniMaxM2",
        "minimax m2",
        SIZES
        | TWO
        | {"num_local_experts": 4, "num_experts_per_tok": 2, "rotary_dim": 16}
        | {"scoring_func": "sigmoid", "use_routing_bias": True, "use_qk_norm": True},  # as above
    ),
    "lfm 2": Tiny(
        "Lfm2",
        "lfm 2",
        WIDE
        | FOUR
        | {"layer_types": ["conv", "full_attention"] * 2, "block_auto_adjust_ff_dim": False}
        | {"conv_dim": 128, "block_dim": 128},  # as above
    ),
    "falcon h1": Tiny(
        "FalconH1",
        "falcon h1",
        SIZES | TWO | MAMBA | {"mamba_d_ssm": 128, "mamba_n_heads": 4, "pad_token_id": 0},
    ),
}
ARCHITECTURES = (*TINY, *FAMILIES)


def write_architecture(name: str, folder: Path) -> Path:
    """Write a tiny checkpoint of an architecture, as `save_pretrained` would a large one."""
    import torch
    from transformers import GenerationConfig

    torch.manual_seed(0)
    model, tokenizer, ends = _made(name)
    model = model.to(torch.float32)
    with torch.no_grad():
        for part, weight in model.named_parameters():
            if weight.dim() == 1 and "bias" in part:
                weight.normal_(0, 0.05)
            if part.endswith("sinks"):
                weight.normal_(0, 1)
    for config in (model.config, model.config.get_text_config()):
        config.eos_token_id, config.bos_token_id = tokenizer.eos_token_id, tokenizer.bos_token_id
        own = tokenizer.pad_token_id
        config.pad_token_id = tokenizer.eos_token_id if own is None else own
    model.generation_config = GenerationConfig(
        eos_token_id=ends,
        do_sample=True,
        temperature=0.6,
        top_k=20,
        top_p=0.95,
        repetition_penalty=1.5,
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _made(name: str) -> tuple[Any, Any, list[int]]:
    """Return a model, its tokenizer, and the tokens that end its text."""
    if name in FAMILIES:
        make, make_tokenizer, ends = FAMILIES[name]
        tokenizer = make_tokenizer()
        model = make((len(tokenizer) + 63) // 64 * 64, tokenizer)
        return model, tokenizer, tokenizer.convert_tokens_to_ids(ends)
    tiny = TINY[name]
    formats = {one.name: one for one in all_formats()}
    tokenizer = formats[tiny.format].made().tokenizer
    return _model(tiny, (len(tokenizer) + 63) // 64 * 64), tokenizer, [tokenizer.eos_token_id]


def _model(tiny: Tiny, n_tokens: int) -> Any:
    import transformers

    sizes = {"vocab_size": n_tokens, **tiny.sizes}
    if "num_kv_shared_layers" in sizes:
        sizes["vocab_size_per_layer_input"] = n_tokens
    if not tiny.beside:
        config = getattr(transformers, tiny.text or f"{tiny.classes}Config")(**sizes)
        return getattr(transformers, f"{tiny.classes}ForCausalLM")(config)
    text = getattr(transformers, tiny.text)(**sizes).to_dict()
    config = getattr(transformers, f"{tiny.classes}Config")(text_config=text, **tiny.beside)
    return getattr(transformers, f"{tiny.classes}ForConditionalGeneration")(config)
