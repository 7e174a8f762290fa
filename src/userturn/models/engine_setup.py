"""A model as an engine is to load it: its files, what its entry asks for, and where it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from userturn.models.architecture import Architecture, read_architecture


@dataclass(frozen=True)
class Setup:
    """A model and the engine that is to load it.

    Attributes:
        what: how a sentence names it, such as `model 'mine'`.
        engine: vllm or transformers; None for a server that somebody else runs.
        folder: of its files; weights may be missing there before they are fetched.
        max_model_len: the largest number of tokens in a text, no more than the model's own; None
            for that.
        is_length_asked: whether its own entry asks for so many, and not a default.
        writes: the largest number of tokens that it is to write, by what that is.
        gpus: of one copy of the model; 0 for a CPU.
        nodes: that these are spread over.
        gpu_model: the cluster's name of the card, where an entry names it.
        dtype: number type of its unquantised weights.
        is_exact: whether equal requests must give equal texts.
        trusts: whether code from its repository may run.
        options: vLLM's settings.
        prompt_tokens: of the shortest prompt that is known.
        has_weights: whether its weights must be there.
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
        asked = self.options.get("tensor_parallel_size")
        if type(asked) is int:
            return asked
        return max(1, self.gpus // self.nodes) if self.engine == "vllm" else 1

    @property
    def quantization(self) -> str | None:
        """How vLLM is to quantise the weights as it loads them."""
        return self.options.get("quantization") if self.engine == "vllm" else None

    @property
    def longest_text(self) -> int | None:
        """The largest number of tokens in a text; None if nothing says so."""
        known = [n for n in (self.architecture.longest, self.max_model_len) if n]
        return min(known, default=None)
