"""The entries that a run selects: datasets, models and judges, complete with defaults."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from userturn.slurm.resources import ResourceEntry

Config = Mapping[str, Any]


class ModelEntry(ResourceEntry):
    """A model's entry, completed by `model_defaults`, a trained model's also by its base's."""

    source: str
    revision: str
    dtype: str
    max_model_len: int
    enable_thinking: bool
    trust_remote_code: bool
    base: NotRequired[str]
    recipe: NotRequired[str]
    training: NotRequired[Mapping[str, Any]]
    family: NotRequired[str]
    size: NotRequired[str]
    user_header: NotRequired[str]
    stop: NotRequired[list[str]]
    merge_system_message: NotRequired[bool]
    template_options: NotRequired[Mapping[str, Any]]
    chat_template: NotRequired[str]
    answer: NotRequired[Mapping[str, Any]]
    vllm: NotRequired[Mapping[str, Any]]
    header: NotRequired[str]
    system: NotRequired[str]
    endpoint: NotRequired[str]
    served_as: NotRequired[str]
    key_variable: NotRequired[str]
    price: NotRequired[Mapping[str, float]]
    concurrency: int
    timeout: float
    attempts: int


class DatasetEntry(TypedDict):
    """A dataset's entry; without `hub` its `file` is a local path."""

    file: str | Mapping[str, str]
    fields: Mapping[str, Any]
    verifier: str
    hub: NotRequired[str]
    revision: NotRequired[str]
    sha256: NotRequired[str | Mapping[str, str]]
    columns: NotRequired[list[str]]
    rows: NotRequired[int]
    language: NotRequired[str]
    limit: NotRequired[int]
    seed: NotRequired[int]
    turns: NotRequired[str | list[int]]
    condition: NotRequired[str]
    instruction: NotRequired[str]
    private: NotRequired[bool]
    export: NotRequired[bool]
    judge: NotRequired[str]


class ServerEntry(TypedDict):
    """How a server is asked: the model's name there, and the care that is taken."""

    model: str
    concurrency: int
    timeout: float
    attempts: int


class EndpointEntry(ResourceEntry, ServerEntry):
    """The entry of a judge with an endpoint, completed by `judge_defaults`."""

    kind: str
    rubric: str
    prompt: str
    settings: Mapping[str, Any]
    reply: str
    batch: bool
    serve: bool
    vllm: Mapping[str, Any]
    base_url: NotRequired[str]
    key_variable: NotRequired[str]
    price: NotRequired[Mapping[str, float]]
    revision: NotRequired[str]
    rationale_characters: NotRequired[int]


def selected(config: Config, key: str) -> dict[str, Any]:
    """Return the definitions under `key` that this run makes, sorted by name."""
    names = config.get("run", {}).get(key, list(config[key]))
    return {name: config[key][name] for name in sorted(names)}


def private_mark(dataset: DatasetEntry) -> str | None:
    """Return the setting by which an entry's rows are never shown or exported, or None."""
    if dataset.get("private"):
        return "private: true"
    return None if dataset.get("export", True) else "export: false"


def grader(dataset: DatasetEntry) -> str | None:
    """Return the judge that grades a dataset by its rubrics, or None for another verifier."""
    return str(dataset["judge"]) if dataset["verifier"] == "rubric" else None


def asked_judges(config: Config) -> list[str]:
    """Return the judges of user turns and those that grade answers, sorted."""
    graders = map(grader, selected(config, "datasets").values())
    return sorted({*selected(config, "judges"), *filter(None, graders)})


def human_datasets(config: Config) -> dict[str, DatasetEntry]:
    """Return the datasets whose real user turns are judged as a control, sorted by name."""
    names = config["controls"]["human"]
    return {name: config["datasets"][name] for name in sorted(names)}


def likelihood_settings(config: Config) -> Mapping[str, Any] | None:
    """Return the settings of likelihood, or None if a study turns it off or is older."""
    settings: Mapping[str, Any] | None = config.get("likelihood") or None
    return settings


def pair_rounds(config: Config) -> list[str]:
    """Return the rounds of pairs; none if a study has none or is older."""
    return list(config["humans"].get("pairs", {"rounds": []})["rounds"])


def likelihood_datasets(config: Config) -> dict[str, DatasetEntry]:
    """Return the datasets whose reference follow-ups are scored, sorted by name."""
    settings = likelihood_settings(config)
    names = settings["datasets"] if settings else []
    return {name: config["datasets"][name] for name in sorted(names)}


def prepared_datasets(config: Config) -> dict[str, DatasetEntry]:
    """Return all datasets of a run: of the grid, of the controls, of the likelihood."""
    return selected(config, "datasets") | human_datasets(config) | likelihood_datasets(config)
