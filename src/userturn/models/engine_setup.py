"""A model as an engine is to load it: its architecture, its entry's settings, and where it runs.

Checkpoints name the same number in many ways, and leave out defaults of their class, which
transformers fills in if it knows the class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from userturn.config.entries import Config
from userturn.config.model_keys import ModelEntry
from userturn.errors import UserError
from userturn.storage.files import read_json

# Keys in which vLLM 0.32 finds the longest text that a model takes, of which the smallest counts.
LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
# Kinds of RoPE whose factor is in `max_position_embeddings` already.
SCALED = {"su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling", "default"}
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, ImportError)
NEEDED = ("hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size")
EXPERTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
GROUPS = ("num_key_value_heads", "n_head_kv", "num_kv_heads", "multi_query_group_num")
STATE_KINDS = {"linear_attention", "conv", "mamba", "mamba2", "recurrent", "hybrid"}
STATES = ("mamba_d_", "mamba_num", "ssm_state", "linear_conv", "linear_attn", "conv_L", "lru_width")


class Architecture:
    """An architecture as its config.json describes it, with 0 or "" for what that lacks."""

    def __init__(self, whole: Mapping[str, Any], text: Mapping[str, Any]) -> None:
        """Take the object of config.json, and its part for the language model with defaults."""
        self.whole, self.text = whole, text
        named, kinds = whole.get("architectures"), text.get("layer_types")
        kinds = kinds or text.get("layers_block_type") or []
        self.name = str(named[0]) if isinstance(named, list) and named else ""  # of its class
        self.family = str(whole.get("model_type", ""))  # such as llama
        self.heads = self.number("num_attention_heads", "n_head", "n_heads")
        self.groups = self.number(*GROUPS) or self.heads  # heads with keys and values
        self.head_size = self.number("head_dim") or self.number("hidden_size") // max(1, self.heads)
        self.layers = self.number("num_hidden_layers", "n_layer", "n_layers")
        self.kinds = [str(kind) for kind in kinds] if isinstance(kinds, list) else []  # of layers
        self.experts = self.number(*EXPERTS)  # of a layer
        inner = self.number("moe_intermediate_size", "intermediate_size")
        self.width_of_experts = inner if self.experts else 0
        parts = (whole, whole.get("text_config") or {})
        configurations = [
            p.get("quantization_config") or p.get("compression_config") for p in parts
        ]
        self.quantization = next((one for one in configurations if isinstance(one, Mapping)), {})
        method = str(self.quantization.get("quant_method", "")).lower()
        self.quant_method = method.replace("compressed_tensors", "compressed-tensors")  # as vLLM's

    def number(self, *names: str) -> int:
        """Return the first number that the language model's part has under some names, else 0."""
        values = (self.text.get(name) for name in names)
        return next((value for value in values if type(value) is int), 0)

    @property
    def longest(self) -> int | None:
        """The largest number of tokens in a text, as vLLM derives it, or None if it is unknown."""
        lengths = [self.text[name] for name in LENGTHS if type(self.text.get(name)) is int]
        if not lengths:
            return None
        settings = self.text.get("rope_parameters") or self.text.get("rope_scaling") or {}
        ropes = [settings, *settings.values()] if isinstance(settings, Mapping) else []
        factors = [rope.get("factor") for rope in ropes if _adds_factor(rope)]
        factor = 1 if "gemma3" in self.family else next(filter(None, factors), 1)
        return int(min(lengths) * factor)

    @property
    def widths(self) -> dict[str, int]:
        """The inner widths of its feed-forward layers, which are split over GPUs, by their key."""
        names = ["shared_expert_intermediate_size"]
        own = "moe_intermediate_size" if self.number("moe_intermediate_size") else ""
        has_dense = self.number("first_k_dense_replace") or self.text.get("mlp_only_layers")
        if not self.experts or not own or has_dense:
            names.append("intermediate_size")
        return {name: n for name in [own, *names] if name and (n := self.number(name))}

    @property
    def states(self) -> str:
        """The kind of layer that keeps a state instead of tokens, or the key for it, else ""."""
        if self.kinds:
            return next((kind for kind in self.kinds if kind in STATE_KINDS), "")
        return next((key for key in sorted(self.text) if key.startswith(STATES)), "")


def _adds_factor(rope: Any) -> bool:
    kind = (rope.get("rope_type") or rope.get("type")) if isinstance(rope, Mapping) else None
    return isinstance(kind, str) and kind not in SCALED


def read_architecture(folder: Path, overrides: Mapping[str, Any]) -> Architecture:
    """Return the architecture of a model folder, with some values of config.json overridden.

    Raises:
        UserError: config.json cannot be read.
    """
    whole = read_json(folder / "config.json") | dict(overrides)
    own = whole.get("text_config") or whole.get("llm_config") or whole
    if not isinstance(own, Mapping):
        raise UserError(f"'{folder / 'config.json'}': text_config is not an object; fetch it again")
    text = {**{name: whole[name] for name in NEEDED if name in whole}, **own}
    if all(name in text for name in NEEDED) and any(name in text for name in LENGTHS):
        return Architecture(whole, text)
    return Architecture(whole, {**_defaults(folder), **text})


def _defaults(folder: Path) -> dict[str, Any]:
    """Return the settings that transformers reads for a folder's language model, empty if none."""
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except (*UNREADABLE, StrictDataclassError):
        return {}
    return dict(config.get_text_config().to_dict())


@dataclass(frozen=True)
class Setup:
    """A model and the engine that is to load it.

    Attributes:
        what: name of the model in a sentence, such as `model 'mine'`.
        engine: vllm or transformers, or None for a server that somebody else runs.
        folder: the folder with its config.json.
        max_model_len: the largest number of tokens in a text, by entry or default, or None for the
            model's own.
        is_length_asked: whether the model's entry sets `max_model_len`, not a default.
        writes: the largest number of tokens of each kind of text that it is to write.
        gpus: number of GPUs for one copy of the model, on all `nodes`, 0 for a CPU.
        gpu_model: the cluster's name of the card, if an entry names it.
        dtype: number type of its unquantised weights.
        is_exact: whether equal requests must give equal texts.
        trusts: whether code from its repository may run.
        options: vLLM's settings by name.
        prompt_tokens: number of tokens of the shortest known prompt.
        has_weights: whether the weights must be in the folder.
    """

    what: str
    engine: str | None
    folder: Path
    max_model_len: int | None = None
    is_length_asked: bool = True
    writes: Mapping[str, int] = field(default_factory=dict)
    gpus: int = 0
    nodes: int = 1
    gpu_model: str | None = None
    dtype: str = "auto"
    is_exact: bool = False
    trusts: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    prompt_tokens: int = 1
    has_weights: bool = True

    @cached_property
    def architecture(self) -> Architecture:
        """The model's architecture."""
        overrides = self.options.get("hf_overrides")
        return read_architecture(self.folder, overrides if isinstance(overrides, Mapping) else {})

    @property
    def is_vllm_on_gpus(self) -> bool:
        """Whether vLLM loads it on GPUs."""
        return self.engine == "vllm" and self.gpus > 0

    @property
    def parts(self) -> int:
        """How many GPUs share each of its layers."""
        size = self.options.get("tensor_parallel_size")
        if type(size) is int:
            return size
        return max(1, self.gpus // self.nodes) if self.engine == "vllm" else 1

    @property
    def quantization(self) -> str | None:
        """The method by which vLLM is to quantise the weights as it loads them, or None."""
        return self.options.get("quantization") if self.engine == "vllm" else None

    @property
    def longest_text(self) -> int | None:
        """The largest number of tokens in a text, or None if it is unknown."""
        lengths = [n for n in (self.architecture.longest, self.max_model_len) if n]
        return min(lengths, default=None)


def engine_settings(config: Config, entry: ModelEntry) -> dict[str, Any]:
    """Return the engine's settings for a model, from the study's config and the model's entry."""
    return {
        **config["vllm"],
        **entry.get("vllm", {}),
        "dtype": entry["dtype"],
        "max_model_len": entry["max_model_len"],
        "trust_remote_code": entry["trust_remote_code"],
        "tensor_parallel_size": max(1, entry["gpus"] // entry["nodes"]),
        "nnodes": entry["nodes"],
        "exact": config.get("determinism") == "exact",
    }
