"""The keys of models and of the formats in which they are run."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from userturn.config.keys import address, code, harmless, key, part, path, program
from userturn.config.shared_keys import (
    Attempts,
    Concurrency,
    Dtype,
    MaxModelLen,
    Name,
    OwnSampling,
    Prices,
    Revision,
    Timeout,
    VllmSettings,
)
from userturn.config.slurm_resources import ResourceEntry

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


class ModelEntry(ResourceEntry):
    """A model's entry, completed by `model_defaults`, a trained model's also by its base's.

    Those keys that are always there, but for `source`, are those that `model_defaults` gives.
    """

    base: NotRequired[Annotated[Name, part("The model that this one was post-trained from.")]]
    recipe: NotRequired[
        Annotated[Name, part("File of data/recipes that trains it here, from its base.")]
    ]
    seeds: NotRequired[
        Annotated[
            int,
            harmless(
                "How many trainings, each with another seed and a model of its own.",
                minimum=1,
                maximum=MOST_SEEDS,
            ),
        ]
    ]
    repetition: NotRequired[
        Annotated[int, harmless("Which training of `seeds` this is; not written by hand.")]
    ]
    training: NotRequired[
        Annotated[
            Mapping[str, Any],
            part("What its training asks of a cluster, where that differs from its sweep."),
        ]
    ]
    source: Annotated[
        str,
        program("Hub id, folder, adapter folder, GGUF file or package:file.", minLength=1),
    ]
    family: NotRequired[Annotated[Name, part("Models of one family are pooled.")]]
    revision: Revision
    dtype: Dtype
    max_model_len: MaxModelLen
    enable_thinking: Annotated[bool, harmless("Passed to the chat template.")]
    user_header: NotRequired[
        Annotated[str, harmless("Text that ends the probe prompt.", minLength=1)]
    ]
    stop: NotRequired[
        Annotated[
            list[Annotated[str, harmless(minLength=1)]],
            harmless("Further tokens or texts that end the user turn."),
        ]
    ]
    merge_system_message: NotRequired[
        Annotated[bool, harmless("Write a system message into the first user message.")]
    ]
    trust_remote_code: Annotated[bool, code("Run Python code from the model's repository.")]
    template_options: NotRequired[
        Annotated[Mapping[str, Any], harmless("Further keyword arguments of the chat template.")]
    ]
    chat_template: NotRequired[
        Annotated[str, path("File with a chat template that replaces the model's own.")]
    ]
    size: NotRequired[
        Annotated[
            str,
            harmless(
                "Parameters, total and active: 135m, 0.8b, 35b-a3b.",
                pattern=r"^\d+(\.\d+)?[bm](-a\d+(\.\d+)?b)?$",
                form="a size such as 135m or 35b-a3b",
            ),
        ]
    ]
    header: NotRequired[
        Annotated[Literal["bare"], harmless("The user header only up to the name of the role.")]
    ]
    system: NotRequired[System]
    probe: NotRequired[Probe]
    roles: NotRequired[Roles]
    instruction: NotRequired[Instruction]
    answer: NotRequired[
        Annotated[OwnSampling, part("How this model's own answer is sampled, where it differs.")]
    ]
    vllm: NotRequired[
        Annotated[VllmSettings, part("vLLM's settings for this model, over those of the study.")]
    ]
    endpoint: NotRequired[
        Annotated[str, address("Address of a server that has the model, up to /v1.")]
    ]
    api: NotRequired[
        Annotated[
            Literal["completions", "chat"],
            harmless(
                "How that server is asked: by prompts to complete, or by messages to a chat API, "
                "where the model can only play the user."
            ),
        ]
    ]
    served_as: NotRequired[
        Annotated[
            str,
            harmless("The model's name on that server; its source, where left out.", minLength=1),
        ]
    ]
    key_variable: NotRequired[
        Annotated[str, key("NAME of the environment variable that holds the key.")]
    ]
    price: NotRequired[Annotated[Prices, part("Price of a million tokens.")]]
    concurrency: Concurrency
    timeout: Timeout
    attempts: Attempts


class FormatEntry(TypedDict, total=False):
    """A way of writing the same conversation for the same model."""

    models: Annotated[
        list[str],
        harmless(
            "Models that are run in this format; all, where left out.", minItems=1, uniqueItems=True
        ),
    ]
    header: Annotated[
        Literal["complete", "bare"],
        harmless("The user header as the template writes it, or only up to the name of the role."),
    ]
    system: System
    probe: Probe
    roles: Roles
    instruction: Instruction
    thinking: Annotated[bool, harmless("Passed to the chat template as enable_thinking.")]
    reasoning_effort: Annotated[str, harmless("Passed to the chat template.", minLength=1)]
    answer: Annotated[
        OwnSampling, part("How answers in this format are sampled, where it differs.")
    ]
