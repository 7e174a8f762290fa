"""Values that several parts of the configuration take."""

from typing import Annotated, Literal, NotRequired, TypedDict

from userturn.config.keys import harmless

Name = Annotated[
    str,
    harmless(
        maxLength=80,
        pattern="^[a-z0-9][a-z0-9._-]*$",
        form="a name of a-z, 0-9, '.', '_' and '-'",
    ),
]
Selection = Annotated[
    list[str], harmless("Names of entries; all, where left out.", minItems=1, uniqueItems=True)
]
Temperatures = Annotated[
    list[Annotated[float, harmless(minimum=0)]],
    harmless("Temperatures of the user turn; all, where left out.", minItems=1, uniqueItems=True),
]
Temperature = Annotated[float, harmless("Softmax temperature; 0 is greedy.", minimum=0, maximum=2)]
TopP = Annotated[float, harmless("Nucleus mass; 1 is all.", exclusiveMinimum=0, maximum=1)]
TopK = Annotated[int, harmless("Number of candidates; 0 is all.", minimum=0)]
PresencePenalty = Annotated[
    float, harmless("Subtracted from logits of tokens already written.", minimum=-2, maximum=2)
]
MaxTokens = Annotated[int, harmless("Length limit of one continuation.", minimum=1)]
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
Concurrency = Annotated[int, harmless("Requests in flight at most.", minimum=1)]
Timeout = Annotated[
    float, harmless("Seconds until a request without a complete reply fails.", exclusiveMinimum=0)
]
Attempts = Annotated[int, harmless("Attempts at one request.", minimum=1)]
Price = Annotated[float, harmless("Price of a million tokens.", minimum=0)]
Share = Annotated[float, harmless(minimum=0, maximum=1)]
Below1 = Annotated[float, harmless(exclusiveMinimum=0, exclusiveMaximum=1)]


class OwnSampling(TypedDict, total=False):
    """How answers are sampled, where that differs from the study's."""

    temperature: Temperature
    top_p: TopP
    top_k: TopK
    presence_penalty: PresencePenalty
    max_tokens: MaxTokens


class Prices(TypedDict):
    """The prices of a model or a judge."""

    input: Price
    cached_input: NotRequired[Price]
    output: Price


class EngineSettings(TypedDict, total=False):
    """vLLM's settings that are numbers: no file, no module, no code; none changes tokens."""

    max_num_seqs: Annotated[int, harmless("Requests computed together.", minimum=1)]
    max_num_batched_tokens: Annotated[
        int, harmless("Tokens that one step reads or writes at most.", minimum=1)
    ]
    gpu_memory_utilization: Annotated[
        float, harmless("Share of the GPU's memory.", exclusiveMinimum=0, maximum=1)
    ]
    enable_prefix_caching: Annotated[bool, harmless("Compute shared conversation prefixes once.")]
    enable_chunked_prefill: Annotated[bool, harmless("Read a long prompt in several steps.")]
    enable_expert_parallel: Annotated[bool, harmless("Split experts over the GPUs whole.")]
    enforce_eager: Annotated[bool, harmless("No CUDA graphs, quicker start.")]
    async_scheduling: Annotated[bool, harmless("Plan a step while the one before runs.")]
    block_size: Annotated[int, harmless("Tokens of a block of the cache.", minimum=1)]
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
