"""The keys of judges."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from userturn.config.keys import address, code, harmless, key, part, path, program
from userturn.config.shared_keys import (
    Attempts,
    Concurrency,
    Dtype,
    MaxModelLen,
    Prices,
    Revision,
    Share,
    Timeout,
    VllmSettings,
)
from userturn.config.slurm_resources import ResourceEntry


class ServerSettings(VllmSettings, total=False):
    """vLLM's settings of a judge's model."""

    dtype: Dtype
    max_model_len: MaxModelLen
    trust_remote_code: Annotated[bool, code("Run Python code from the model's repository.")]
    tensor_parallel_size: Annotated[int, harmless("GPUs that share each layer.", minimum=1)]
    pipeline_parallel_size: Annotated[int, harmless("GPUs that share the layers.", minimum=1)]
    distributed_executor_backend: Annotated[
        Literal["uni", "mp"], harmless("One process for all GPUs, or one for each.")
    ]
    reasoning_parser: Annotated[
        str,
        harmless(
            "Which of vLLM's own parsers tells reasoning from the reply.",
            pattern="^[a-z0-9_]+$",
            form="the name of a parser such as qwen3",
        ),
    ]


class ServerEntry(TypedDict):
    """How a server is asked: the model's name there, and the care that is taken."""

    model: Annotated[
        str, program("Name at the endpoint; where it is served, its source.", minLength=1)
    ]
    concurrency: Concurrency
    timeout: Timeout
    attempts: Attempts


class EndpointEntry(ResourceEntry, ServerEntry):
    """The entry of a judge with an endpoint, completed by `judge_defaults`.

    Those keys that are always there, but for `kind` and `model`, are those that it gives.
    """

    kind: Annotated[
        Literal["heuristic", "endpoint", "scored"],
        harmless("What answers: the module judges/<kind>.py."),
    ]
    base_url: NotRequired[Annotated[str, address("Address of the API, up to /v1.")]]
    revision: NotRequired[Revision]
    key_variable: NotRequired[
        Annotated[str, key("NAME of the environment variable that holds the key.")]
    ]
    settings: Annotated[Mapping[str, Any], harmless("Fields of every request of a judge.")]
    reply: Annotated[
        Literal["json_schema", "json_object", "text"],
        harmless("Response format that the judge is asked for."),
    ]
    rationale_characters: NotRequired[
        Annotated[int, harmless("maxLength of the rationale in the schema.", minimum=1)]
    ]
    draws: NotRequired[
        Annotated[
            int,
            harmless(
                "How often a turn is asked about, every second time with the labels in reverse.",
                minimum=1,
                maximum=9,
            ),
        ]
    ]
    price: NotRequired[Annotated[Prices, part("Price of a million tokens.")]]
    rubric: Annotated[str, path("File with the labels.")]
    prompt: Annotated[str, path("File with the judge's prompt.")]
    batch: Annotated[bool, harmless("Ask through the Batch API.")]
    serve: Annotated[bool, program("Start a job that serves the model.")]
    vllm: Annotated[ServerSettings, part("Settings of vLLM, which loads its model.")]


class JudgeEntry(EndpointEntry, total=False):
    """The keys of every kind of judge."""

    template_options: Annotated[
        Mapping[str, Any], harmless("Further keyword arguments of the chat template.")
    ]
    restated: Annotated[Share, part("Share of words found in one source.")]
    grounded: Annotated[Share, part("Share of content words found in the answer.")]
    repeated: Annotated[Share, part("Share of repeated word triples.")]
    arguable: Annotated[bool, harmless("Doubtful turns are arguable_followup, as by rubric 2.")]


class JudgeDefaults(TypedDict, total=False):
    """What `judge_defaults` gives to one kind of judge only."""

    scored_prompt: Annotated[str, path("File with the judge's prompt.")]
