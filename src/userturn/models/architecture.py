"""What a model's config.json says of its architecture, in one set of names.

Checkpoints name the same number in many ways, and leave out what is the default of their class;
transformers, where it knows the class, fills that in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from userturn.errors import UserError
from userturn.storage.files import given_object

# Where vLLM 0.32 finds the longest text that a model takes; the smallest counts.
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


@dataclass(frozen=True)
class Architecture:
    """An architecture, as its config.json describes it.

    Attributes:
        whole: the object of config.json.
        text: the part of it that describes the language model, with defaults.
    """

    whole: Mapping[str, Any]
    text: Mapping[str, Any]

    def number(self, *names: str) -> int:
        """Return the first number that the text part has under one of some names, else 0."""
        found = (self.text.get(name) for name in names)
        return next((value for value in found if type(value) is int), 0)

    @property
    def name(self) -> str:
        """The class of the model, such as LlamaForCausalLM."""
        named = self.whole.get("architectures")
        return str(named[0]) if isinstance(named, list) and named else ""

    @property
    def family(self) -> str:
        """The family of the model, such as llama."""
        return str(self.whole.get("model_type", ""))

    @property
    def longest(self) -> int | None:
        """The largest number of tokens in a text, as vLLM sees it; None if nothing says so."""
        found = [self.text[name] for name in LENGTHS if type(self.text.get(name)) is int]
        if not found:
            return None
        factors = [kind.get("factor") for kind in self._ropes if _adds_factor(kind)]
        factor = 1 if "gemma3" in self.family else next(filter(None, factors), 1)
        return int(min(found) * factor)

    @property
    def _ropes(self) -> list[Mapping[str, Any]]:
        said = self.text.get("rope_parameters") or self.text.get("rope_scaling") or {}
        each = [said, *said.values()] if isinstance(said, Mapping) else []
        return [kind for kind in each if isinstance(kind, Mapping)]

    @property
    def heads(self) -> int:
        """The number of heads of attention; 0 if it has none."""
        return self.number("num_attention_heads", "n_head", "n_heads")

    @property
    def groups(self) -> int:
        """The number of heads with keys and values."""
        return self.number(*GROUPS) or self.heads

    @property
    def head_size(self) -> int:
        """The width of a head of attention."""
        return self.number("head_dim") or self.number("hidden_size") // max(1, self.heads)

    @property
    def experts(self) -> int:
        """The number of experts of a layer; 0 for a dense model."""
        return self.number(*EXPERTS)

    @property
    def layers(self) -> int:
        """The number of layers."""
        return self.number("num_hidden_layers", "n_layer", "n_layers")

    @property
    def widths(self) -> dict[str, int]:
        """The inner widths of its feed-forward layers, which GPUs share, by their key."""
        names = ["shared_expert_intermediate_size"]
        own = "moe_intermediate_size" if self.number("moe_intermediate_size") else ""
        has_dense = self.number("first_k_dense_replace") or self.text.get("mlp_only_layers")
        if not self.experts or not own or has_dense:
            names.append("intermediate_size")
        return {name: n for name in [own, *names] if name and (n := self.number(name))}

    @property
    def width_of_experts(self) -> int:
        """The inner width of an expert; 0 for a dense model."""
        return self.number("moe_intermediate_size", "intermediate_size") if self.experts else 0

    @property
    def kinds(self) -> list[str]:
        """The kind of each layer; empty if its config has no list of them."""
        said = self.text.get("layer_types") or self.text.get("layers_block_type") or []
        return [str(kind) for kind in said] if isinstance(said, list) else []

    @property
    def states(self) -> str:
        """A kind of its layers that keeps a state instead of tokens, or the key that says so."""
        if self.kinds:
            return next((kind for kind in self.kinds if kind in STATE_KINDS), "")
        return next((key for key in sorted(self.text) if key.startswith(STATES)), "")

    @cached_property
    def quantization(self) -> Mapping[str, Any]:
        """How its weights were quantised; empty if they were not."""
        for part in (self.whole, self.whole.get("text_config") or {}):
            found = part.get("quantization_config") or part.get("compression_config")
            if isinstance(found, Mapping):
                return found
        return {}

    @property
    def quant_method(self) -> str:
        """The name of the quantisation, as vLLM spells it; empty for none."""
        named = str(self.quantization.get("quant_method", "")).lower()
        return named.replace("compressed_tensors", "compressed-tensors")


def _adds_factor(rope: Mapping[str, Any]) -> bool:
    kind = rope.get("rope_type") or rope.get("type")
    return isinstance(kind, str) and kind not in SCALED


def read_architecture(folder: Path, overrides: Mapping[str, Any]) -> Architecture:
    """Return the architecture of a model folder.

    Args:
        folder: with a config.json.
        overrides: other values of keys of config.json.

    Raises:
        UserError: config.json cannot be read.
    """
    whole = given_object(folder / "config.json") | dict(overrides)
    own = whole.get("text_config") or whole.get("llm_config") or whole
    if not isinstance(own, Mapping):
        raise UserError(f"'{folder / 'config.json'}': text_config is no object; fetch it again")
    text = {**{name: whole[name] for name in NEEDED if name in whole}, **own}
    if all(name in text for name in NEEDED) and any(name in text for name in LENGTHS):
        return Architecture(whole, text)
    return Architecture(whole, {**_defaults(folder), **text})


def _defaults(folder: Path) -> dict[str, Any]:
    """Return what transformers takes for the language model of a folder; nothing if it cannot."""
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig

    try:
        found = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    except (*UNREADABLE, StrictDataclassError):
        return {}
    return dict(found.get_text_config().to_dict())
