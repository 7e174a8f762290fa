"""How a key of the configuration is described: meaning, bounds, and what a stranger could do by it.

Each key in `model_keys.py` and its like is a type with one of these descriptions:
`Annotated[int, harmless("Seed of the draw.", minimum=0)]`. Bounds are words of JSON Schema. `form`
says in an error message what a pattern asks for.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict


@dataclass(frozen=True, eq=False)  # types that it annotates are hashed with it
class Key:
    """The description of a key besides its type."""

    meaning: str  # one sentence for the reference; empty for what only narrows a type
    power: str | None  # what a stranger could do with its value; None if its type says that
    bounds: dict[str, Any]  # words of JSON Schema that narrow its values


def harmless(meaning: str = "", **bounds: Any) -> Key:
    """Describe a key whose value is a number, a name or a text that nobody opens, runs or sends."""
    return Key(meaning, "harmless", bounds)


def path(meaning: str, **bounds: Any) -> Key:
    """Describe a key that names a file to read."""
    return Key(meaning, "path", {"minLength": 1, **bounds})


def address(meaning: str) -> Key:
    """Describe a key that names a server to which requests go."""
    expected = "an address such as http://host:8000/v1"
    return Key(meaning, "address", {"pattern": "^https?://", "form": expected})


def code(meaning: str) -> Key:
    """Describe a key that lets other people's code run in this process."""
    return Key(meaning, "code", {})


def key(meaning: str) -> Key:
    """Describe a key that names an environment variable whose value is sent."""
    return Key(meaning, "key", {})


def program(meaning: str, **bounds: Any) -> Key:
    """Describe a key that starts a program, or loads a model that somebody else made."""
    return Key(meaning, "program", bounds)


def part(meaning: str, **bounds: Any) -> Key:
    """Describe a key whose type has the rest: its bounds and power, or the keys below it."""
    return Key(meaning, None, bounds)


Text = Annotated[str, harmless(minLength=1)]
Natural = Annotated[int, harmless(minimum=0)]
Positive = Annotated[int, harmless(minimum=1)]
Names = Annotated[list[str], harmless(uniqueItems=True)]
SomeNames = Annotated[list[str], harmless(minItems=1, uniqueItems=True)]
Name = Annotated[
    str,
    harmless(
        maxLength=80, pattern="^[a-z0-9][a-z0-9._-]*$", form="a name of a-z, 0-9, '.', '_' and '-'"
    ),
]
Selection = Annotated[SomeNames, part("Names of entries; default: all.")]
Temperatures = Annotated[
    list[Annotated[float, harmless(minimum=0)]],
    harmless("Temperatures of the user turn; default: all.", minItems=1, uniqueItems=True),
]
Temperature = Annotated[float, harmless("Softmax temperature; 0 is greedy.", minimum=0, maximum=2)]
TopP = Annotated[float, harmless("Nucleus mass; 1 is all.", exclusiveMinimum=0, maximum=1)]
TopK = Annotated[Natural, part("Number of candidates; 0 is all.")]
PresencePenalty = Annotated[
    float, harmless("Subtracted from logits of tokens already written.", minimum=-2, maximum=2)
]
MaxTokens = Annotated[Positive, part("Length limit of one continuation.")]
Revision = Annotated[str, harmless("Commit or branch on the hub.")]
Dtype = Annotated[
    Literal["auto", "float32", "float16", "bfloat16"], harmless("Number type of the weights.")
]
MaxModelLen = Annotated[
    int,
    harmless(
        "Tokens of prompt and continuation together; by default no more than the model's own.",
        minimum=64,
    ),
]
Concurrency = Annotated[Positive, part("Requests in flight at most.")]
Timeout = Annotated[
    float, harmless("Seconds until a request without a complete reply fails.", exclusiveMinimum=0)
]
Attempts = Annotated[Positive, part("Attempts at one request.")]
Share = Annotated[float, harmless(minimum=0, maximum=1)]
Below1 = Annotated[float, harmless(exclusiveMinimum=0, exclusiveMaximum=1)]


class OwnSampling(TypedDict, total=False):
    """How a model's answers are sampled where that differs from the study's settings."""

    temperature: Temperature
    top_p: TopP
    top_k: TopK
    presence_penalty: PresencePenalty
    max_tokens: MaxTokens


class Prices(TypedDict):
    """The prices of a model or a judge."""

    input: Annotated[float, harmless("Price of a million tokens that it reads.", minimum=0)]
    cached_input: Annotated[
        NotRequired[float],
        harmless("Price of a million tokens that it reads from a cache.", minimum=0),
    ]
    output: Annotated[float, harmless("Price of a million tokens that it writes.", minimum=0)]


class EngineSettings(TypedDict, total=False):
    """vLLM's settings that are numbers or switches: none names a file or code or changes tokens."""

    max_num_seqs: Annotated[Positive, part("Requests computed together.")]
    max_num_batched_tokens: Annotated[
        Positive, part("Tokens that one step reads or writes at most.")
    ]
    gpu_memory_utilization: Annotated[
        float, harmless("Share of the GPU's memory.", exclusiveMinimum=0, maximum=1)
    ]
    enable_prefix_caching: Annotated[bool, harmless("Compute shared conversation prefixes once.")]
    enable_chunked_prefill: Annotated[bool, harmless("Read a long prompt in several steps.")]
    enable_expert_parallel: Annotated[bool, harmless("Split experts over the GPUs whole.")]
    enforce_eager: Annotated[bool, harmless("Start sooner, without CUDA graphs.")]
    async_scheduling: Annotated[bool, harmless("Plan a step while the one before runs.")]
    block_size: Annotated[Positive, part("Tokens of a block of the cache.")]
    cpu_offload_gb: Annotated[
        float, harmless("GB of weights that stay in the machine's memory.", minimum=0)
    ]
    language_model_only: Annotated[bool, harmless("Load no encoder of images or sound.")]


class VllmSettings(EngineSettings, total=False):
    """vLLM's settings of one model."""

    kv_cache_dtype: Annotated[
        Literal["auto", "bfloat16", "float16", "fp8", "fp8_e4m3", "fp8_e5m2"],
        harmless(
            "Number type of keys and values; changes tokens, and is part of a request's identity."
        ),
    ]
    quantization: Annotated[
        Literal["fp8", "experts_int8", "bitsandbytes", "mxfp8"],
        harmless(
            "Quantise the weights as they are loaded; changes tokens, and is part of a request's "
            "identity."
        ),
    ]
