"""The keys of judges, and of the controls that they are measured on."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

from userturn.config.job_resources import ResourceEntry
from userturn.config.keys import (
    Attempts,
    Concurrency,
    Dtype,
    MaxModelLen,
    Names,
    Natural,
    Positive,
    Prices,
    Revision,
    Share,
    Timeout,
    VllmSettings,
    address,
    code,
    harmless,
    key,
    part,
    path,
    program,
)


class ServerSettings(VllmSettings, total=False):
    """vLLM's settings of a judge's model."""

    dtype: Dtype
    max_model_len: MaxModelLen
    trust_remote_code: Annotated[bool, code("Run Python code from the model's repository.")]
    tensor_parallel_size: Annotated[Positive, part("GPUs that share each layer.")]
    pipeline_parallel_size: Annotated[Positive, part("GPUs that share the layers.")]
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
    """How a server is asked: the model's name there, and limits such as timeout and attempts."""

    model: Annotated[
        str, program("Name at the endpoint; where it is served, its source.", minLength=1)
    ]
    concurrency: Concurrency
    timeout: Timeout
    attempts: Attempts


class EndpointEntry(ResourceEntry, ServerEntry, total=False):
    """The entry of a judge with an endpoint, completed by `judge_defaults`.

    Of the required keys, `kind` and `model` are the entry's own. `judge_defaults` has the others.
    """

    kind: Annotated[
        Required[Literal["heuristic", "endpoint", "scored"]],
        harmless("What answers: the module judges/<kind>.py."),
    ]
    base_url: Annotated[str, address("Address of the API, up to /v1.")]
    revision: Revision
    key_variable: Annotated[str, key("NAME of the environment variable that holds the key.")]
    settings: Annotated[
        Required[Mapping[str, Any]], harmless("Fields of every request of a judge.")
    ]
    reply: Annotated[
        Required[Literal["json_schema", "json_object", "text"]],
        harmless("Response format that the judge is asked for."),
    ]
    rationale_characters: Annotated[
        Positive, part("Characters of a rationale at most, in the schema.")
    ]
    draws: Annotated[
        int,
        harmless(
            "How often a turn is asked about, every second time with the labels in reverse.",
            minimum=1,
            maximum=9,
        ),
    ]
    price: Annotated[Prices, part("Prices of a million tokens.")]
    rubric: Annotated[Required[str], path("File with the labels.")]
    prompt: Annotated[Required[str], path("File with the judge's prompt.")]
    batch: Annotated[Required[bool], harmless("Ask through the Batch API.")]
    serve: Annotated[Required[bool], program("Start a job that serves the model.")]
    vllm: Annotated[Required[ServerSettings], part("Settings of vLLM, which loads its model.")]


class JudgeEntry(EndpointEntry, total=False):
    """The keys of every kind of judge."""

    template_options: Annotated[
        Mapping[str, Any], harmless("Further keyword arguments of the chat template.")
    ]
    restated: Annotated[Share, part("Share of words in prompt or answer that makes a restatement.")]
    grounded: Annotated[Share, part("Share of words from the answer alone that makes a follow-up.")]
    repeated: Annotated[
        Share, part("Largest share of a turn's word triples that may repeat earlier ones.")
    ]
    arguable: Annotated[bool, harmless("Doubtful turns are arguable_followup, as by rubric 2.")]


class JudgeDefaults(TypedDict, total=False):
    """The keys of `judge_defaults` that only one kind of judge takes."""

    scored_prompt: Annotated[str, path("File with the judge's prompt.")]


class Controls(TypedDict, total=False):
    """The controls: user turns whose label is known."""

    human: Annotated[Required[Names], part("Datasets whose real user turns are judged.")]
    planted: Annotated[
        Required[Natural], part("Items of each model and dataset that get every planted failure.")
    ]
    labelled: Annotated[bool, harmless("Whether every judge reads the turns of data/labelled.")]
    injected: Annotated[bool, harmless("Whether judges read conversations with an injection.")]
    chance_floor: Annotated[Natural, part("User turns of each cell judged after another answer.")]
    edited: Annotated[
        Natural, part("User turns of each cell that are judged after edited answers.")
    ]
    unseen_answer: Annotated[
        Natural, part("User turns of each control that are judged after the answer it lacks.")
    ]


class JudgeCard(TypedDict):
    """The values that a judge's card must reach."""

    min_sensitivity: Annotated[Share, part("What the lower limit of its sensitivity must reach.")]
    min_specificity: Annotated[Share, part("What the lower limit of its specificity must reach.")]
    min_kappa: Annotated[NotRequired[float], harmless("A key of earlier versions, without effect.")]
