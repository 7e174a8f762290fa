"""The keys of models, of the formats in which they are run, and of how turns are sampled.

Except for `CHANGE_TOKENS`, a model's `vllm` settings change only its speed and memory. Tokens may
differ as other batches round otherwise, which is no part of an identity (docs/engines.md).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

from userturn.config.job_resources import ResourceEntry
from userturn.config.keys import (
    Attempts,
    Concurrency,
    Dtype,
    MaxModelLen,
    MaxTokens,
    Name,
    OwnSampling,
    Positive,
    PresencePenalty,
    Prices,
    Revision,
    SomeNames,
    Temperature,
    Text,
    Timeout,
    TopK,
    TopP,
    VllmSettings,
    address,
    code,
    harmless,
    key,
    part,
    path,
    program,
)

MOST_SEEDS = 100
System = Annotated[
    str,
    path(
        "System prompt of conversations that bring none: `none`, `template` for the template's "
        "own, or a file with one."
    ),
]


Probe = Annotated[
    Literal["raw", "role_play"],
    harmless(
        "How a user turn is asked for: under the model's own user header, or by an instruction to "
        "play the user."
    ),
]
Roles = Annotated[
    Literal["swapped", "quoted"],
    harmless(
        "What role-play shows: the conversation with its roles swapped, or quoted in one message."
    ),
]
Instruction = Annotated[
    str, path("File that tells the model to play the user; data/role_play_prompt.txt, if left out.")
]


class ModelEntry(ResourceEntry, total=False):
    """A model's entry, completed by `model_defaults` and, if trained here, by its base's entry.

    Of the required keys, `source` is the entry's own, and `model_defaults` has the others.
    """

    base: Annotated[Name, part("The model that this one was post-trained from.")]
    recipe: Annotated[Name, part("File of data/recipes that trains it here, from its base.")]
    seeds: Annotated[
        int,
        harmless(
            "How many trainings, each with another seed and a model of its own.",
            minimum=1,
            maximum=MOST_SEEDS,
        ),
    ]
    repetition: Annotated[int, harmless("Which training of `seeds` this is; not written by hand.")]
    training: Annotated[
        Mapping[str, Any],
        part("What its training asks of a cluster, where that differs from its sweep."),
    ]
    source: Annotated[
        Required[str],
        program("Hub id, folder, adapter folder, GGUF file or package:file.", minLength=1),
    ]
    family: Annotated[Name, part("Models of one family are pooled.")]
    revision: Required[Revision]
    dtype: Required[Dtype]
    max_model_len: Required[MaxModelLen]
    enable_thinking: Annotated[
        Required[bool], harmless("Let the model reason, where its chat template has this option.")
    ]
    user_header: Annotated[Text, part("Text that ends the probe prompt.")]
    stop: Annotated[list[Text], harmless("Further tokens or texts that end the user turn.")]
    merge_system_message: Annotated[
        bool, harmless("Write a system message into the first user message.")
    ]
    trust_remote_code: Annotated[
        Required[bool], code("Run Python code from the model's repository.")
    ]
    template_options: Annotated[
        Mapping[str, Any], harmless("Further keyword arguments of the chat template.")
    ]
    chat_template: Annotated[str, path("File with a chat template that replaces the model's own.")]
    size: Annotated[
        str,
        harmless(
            "Parameters, total and active: 135m, 0.8b, 35b-a3b.",
            pattern=r"^\d+(\.\d+)?[bm](-a\d+(\.\d+)?b)?$",
            form="a size such as 135m or 35b-a3b",
        ),
    ]
    header: Annotated[Literal["bare"], harmless("The user header only up to the name of the role.")]
    system: System
    probe: Probe
    roles: Roles
    instruction: Instruction
    answer: Annotated[
        OwnSampling, part("How this model's own answer is sampled, where it differs.")
    ]
    vllm: Annotated[VllmSettings, part("vLLM's settings for this model, over those of the study.")]
    endpoint: Annotated[str, address("Address of a server that has the model, up to /v1.")]
    api: Annotated[
        Literal["completions", "chat"],
        harmless(
            "How that server is asked: by prompts to complete, or by messages to a chat API, where "
            "the model can only play the user."
        ),
    ]
    served_as: Annotated[Text, part("The model's name on that server; default: its source.")]
    key_variable: Annotated[str, key("NAME of the environment variable that holds the key.")]
    price: Annotated[Prices, part("Prices of a million tokens.")]
    concurrency: Required[Concurrency]
    timeout: Required[Timeout]
    attempts: Required[Attempts]


class FormatEntry(TypedDict, total=False):
    """A way of writing the same conversation for the same model."""

    models: Annotated[SomeNames, part("Models that are run in this format; default: all.")]
    header: Annotated[
        Literal["complete", "bare"],
        harmless("The user header as the template writes it, or only up to the name of the role."),
    ]
    system: System
    probe: Probe
    roles: Roles
    instruction: Instruction
    thinking: Annotated[
        bool, harmless("Let the model reason; the chat template's enable_thinking.")
    ]
    reasoning_effort: Annotated[Text, part("How much it reasons, by the chat template.")]
    answer: Annotated[
        OwnSampling, part("How answers in this format are sampled, where it differs.")
    ]


CHANGE_TOKENS = ("kv_cache_dtype", "quantization")


def identifying_vllm(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an identity that `vllm` settings add, empty if they change no token."""
    own = entry.get("vllm", {})
    changed = {name: own[name] for name in CHANGE_TOKENS if own.get(name, "auto") != "auto"}
    return {"vllm": changed} if changed else {}


class UserTurn(TypedDict):
    """How the user turn is sampled."""

    top_p: TopP
    top_k: TopK
    presence_penalty: PresencePenalty
    max_tokens: MaxTokens


class Answer(UserTurn):
    """How the model's own answer is sampled."""

    samples: Annotated[
        NotRequired[Positive],
        part(
            "Answers per item of a graded dataset, compared by the table answer_signals; default: "
            "1."
        ),
    ]
    temperature: Temperature
