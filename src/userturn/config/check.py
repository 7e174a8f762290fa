"""Checks of a loaded configuration, by its schema and for what that cannot express."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.entries import (
    Config,
    entries_by_language,
    is_streamed,
    paths_of,
    prepared_datasets,
    selected,
)
from userturn.config.formats import check_formats, is_chat
from userturn.config.validation import validate
from userturn.errors import ConfigError, check_name, near_path
from userturn.storage.hashing import check_sha256

RESERVED = {  # names of other folders and files of the results
    "models": {"human", "judges", "costs"},
    "datasets": {"labelled", "injected"},
}


def _check_selection(config: Config) -> None:
    for key, names in config.get("run", {}).items():
        if key != "formats":  # `default` is there without a definition
            for name in names:
                if name not in config[key]:
                    check_name(f"run.{key}", str(name), map(str, config[key]), "not defined")


def _check_controls(config: Config) -> None:
    for kind, reserved in RESERVED.items():
        for name in sorted(reserved & set(config[kind])):
            raise ConfigError(
                f"{kind}: '{name}' is the name of something else in the results; rename it"
            )
    for name in config["controls"]["human"]:
        check_name("controls.human", name, config["datasets"], "not a dataset")


def _check_likelihood(config: Config) -> None:
    settings = config.get("likelihood") or {}
    for name in settings.get("datasets", []):
        check_name("likelihood.datasets", name, config["datasets"], "not a dataset")
    entries = selected(config, "models").values()
    if settings and all(isinstance(entry, Mapping) and is_chat(entry) for entry in entries):
        raise ConfigError(
            "likelihood: found settings for models that are all behind a chat API, which tells no "
            "likelihood of a text; set `likelihood: off`"
        )


COMPARING = ("numeric", "math")  # verifiers that need a reference


def _check_files(config: Config) -> None:
    for name, dataset in prepared_datasets(config).items():
        files = entries_by_language(dataset)
        _check_split(name, dataset)
        if dataset["verifier"] in COMPARING and "reference" not in dataset["fields"]:
            raise ConfigError(
                f"datasets.{name}: the verifier '{dataset['verifier']}' compares answers with true "
                "ones; name their column as `fields: {reference: ...}`, or set `verifier: none`"
            )
        if isinstance(dataset.get("sha256"), Mapping if None in files else str):
            raise ConfigError(
                f"datasets.{name}.sha256: expected one hash for each file; name the files and the "
                "hashes by the same languages"
            )
        try:
            own = [] if "hub" in dataset else paths_of(dataset)
        except ConfigError as error:
            raise ConfigError(f"datasets.{name}: {error}") from error
        for path in filter(None, [dataset.get("instruction"), *own]):
            if not Path(path).is_file():
                raise ConfigError(
                    f"datasets.{name}: '{path}' does not exist or is not a file; leave the dataset "
                    f"out with run.datasets, or correct the path{near_path(path)}"
                )
        for one in files.values():
            if "hub" not in one and "sha256" in one and Path(one["file"]).is_file():
                check_sha256(one["file"], one["sha256"])
    for name, entry in _model_entries(config):
        template = entry.get("chat_template")
        if template is not None and not Path(template).is_file():
            raise ConfigError(
                f"models.{name}.chat_template: '{template}' does not exist or is not a file; "
                f"correct the path{near_path(template)}"
            )


def _model_entries(config: Config) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (name, entry) of a run's models whose value is an entry and not only a source."""
    entries = selected(config, "models").items()
    return [(name, entry) for name, entry in entries if isinstance(entry, Mapping)]


def _check_split(name: str, dataset: Mapping[str, Any]) -> None:
    of_file, of_split = ("sha256", "rows", "columns"), ("config", "split", "files")
    if is_streamed(dataset):
        wrong, meant = of_file, "a `file`"
    else:
        wrong, meant = of_split, "a split of `hub`, without `file`"
    for key in wrong:
        if key in dataset:
            raise ConfigError(
                f"datasets.{name}.{key}: found {dataset[key]!r}, which belongs to {meant}; leave "
                "one of the two out"
            )
    if "hub" in dataset and "*" in str(dataset.get("file", "")):
        raise ConfigError(
            f"datasets.{name}.file: found the pattern {dataset['file']!r}, expected one file; give "
            "patterns and lists as `files`, without `file`"
        )


def _check_turns(config: Config) -> None:
    """Check that entries with `turns` have no key that makes sense for a single turn only."""
    for name, dataset in prepared_datasets(config).items():
        if "turns" not in dataset:
            continue
        fields = dataset["fields"]
        faults = {
            "needs `fields.messages` or `fields.tree`: a prompt has one turn": "prompt" in fields,
            "goes with `verifier: none` only: a reference grades one turn of a conversation": (
                dataset["verifier"] != "none"
            ),
            "takes the place of `condition`: leave that out": "condition" in dataset,
        }
        for fault, is_there in faults.items():
            if is_there:
                where = f"datasets.{name}.turns: found {dataset['turns']!r}"
                raise ConfigError(f"{where}, which {fault}")


def _check_nodes(config: Config) -> None:
    """Check that a model's GPUs are a multiple of its nodes, since all nodes get equal parts."""
    for name, entry in _model_entries(config):
        whole = config["model_defaults"] | entry
        if whole["gpus"] % whole.get("nodes", 1):
            raise ConfigError(
                f"models.{name}.gpus: found {whole['gpus']} for {whole['nodes']} nodes; expected "
                "as many on each node: set `gpus` to a multiple of `nodes`"
            )


def _check_lengths(config: Config) -> None:
    """Check that `max_model_len` leaves room for a prompt beside the tokens to be written."""
    for name, entry in selected(config, "models").items():
        own = entry if isinstance(entry, Mapping) else {}
        length = own.get("max_model_len", config["model_defaults"]["max_model_len"])
        settings = {
            f"models.{name}.answer" if "max_tokens" in own.get("answer", {}) else "answer": (
                config["answer"] | own.get("answer", {})
            ),
            "user_turn": config["user_turn"],
        }
        for where, sampling in settings.items():
            if sampling["max_tokens"] >= length and not is_chat(own):
                raise ConfigError(
                    f"{where}.max_tokens: found {sampling['max_tokens']}, which leaves no room for "
                    f"a prompt in the {length} tokens of max_model_len of model '{name}'; lower "
                    "the one or raise the other"
                )


def check_predictions(config: Mapping[str, Any]) -> None:
    """Check the predictions for faults that the schema cannot express, or raise ConfigError."""
    for name, one in config.get("predictions", {}).items():
        for key in ("model", "dataset", "perturbation"):
            allowed = ["none", *config[f"{key}s"]] if key == "perturbation" else config[f"{key}s"]
            for part in (one, one.get("against", {})):
                if key in part:
                    check_name(f"predictions.{name}", part[key], allowed, f"no {key}")
        for is_wrong, expected in (
            (("model" in one) == ("family" in one), "either `model` or `family`"),
            (not {"above", "below"} & set(one), "`above`, `below` or both"),
            (one.get("above", -2) >= one.get("below", 2), "`above` to be less than `below`"),
            (len(one.get("against", {"": 0})) != 1, "one key in `against`"),
            (one.get("of") == "accuracy" and "against" in one, "no `against` for accuracy"),
        ):
            if is_wrong:
                shown = ", ".join(f"{key}: {value}" for key, value in one.items())
                raise ConfigError(
                    f"predictions.{name}: found {shown or 'nothing'}, expected {expected}"
                )


def check(config: Config) -> None:
    """Check a configuration by its schema and for what that cannot express, or raise ConfigError.

    Numbers written as text become numbers, in place.
    """
    validate(config)
    _check_selection(config)
    check_formats(config)
    _check_controls(config)
    _check_likelihood(config)
    _check_files(config)
    _check_turns(config)
    _check_nodes(config)
    _check_lengths(config)
    check_predictions(config)
