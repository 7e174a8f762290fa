"""The keys of judges."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from userturn.config.keys import address, harmless, key, part, path, program
from userturn.config.shared_keys import (
    Attempts,
    Concurrency,
    Prices,
    Revision,
    Share,
    Timeout,
)
from userturn.slurm.resources import ResourceEntry


class ServerEntry(TypedDict):
    """How a server is asked: the model's name there, and the care that is taken."""

    model: Annotated[str, path("Name at the endpoint; where it is served, its source.")]
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
    price: NotRequired[Annotated[Prices, part("Price of a million tokens.")]]
    rubric: Annotated[str, path("File with the labels.")]
    prompt: Annotated[str, path("File with the judge's prompt.")]
    batch: Annotated[bool, harmless("Ask through the Batch API.")]
    serve: Annotated[bool, program("Start a job that serves the model.")]
    vllm: Annotated[Mapping[str, Any], program("Options of vLLM's server.")]


class JudgeEntry(EndpointEntry, total=False):
    """The keys of every kind of judge."""

    template_options: Annotated[
        Mapping[str, Any], harmless("Further keyword arguments of the chat template.")
    ]
    restated: Annotated[Share, part("Share of words found in one source.")]
    grounded: Annotated[Share, part("Share of content words found in the answer.")]
    repeated: Annotated[Share, part("Share of repeated word triples.")]


class JudgeDefaults(TypedDict, total=False):
    """What `judge_defaults` gives to one kind of judge only."""

    scored_prompt: Annotated[str, path("File with the judge's prompt.")]
