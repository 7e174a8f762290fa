"""What the schema cannot express, checked when the configuration is loaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.entries import (
    Config,
    by_language,
    is_streamed,
    paths_of,
    prepared_datasets,
    selected,
)
from userturn.config.formats import check_formats, is_chat
from userturn.config.validation import validate
from userturn.errors import ConfigError, near_miss
from userturn.storage.hashing import check_sha256

RESERVED = {  # what is beside them in the results
    "models": {"human", "judges", "costs"},
    "datasets": {"labelled", "injected"},
}


def _check_selection(config: Config) -> None:
    for key, names in config.get("run", {}).items():
        if key == "formats":  # `default` is there without a definition
            continue
        known = [str(name) for name in config[key]]
        for name in names:
            if str(name) not in known and name not in config[key]:
                raise ConfigError(
                    f"run.{key}: '{name}' is not defined{near_miss(str(name), known)}"
                )


def _check_controls(config: Config) -> None:
    for kind, reserved in RESERVED.items():
        for name in sorted(reserved & set(config[kind])):
            raise ConfigError(
                f"{kind}: '{name}' is the name of something else in the results; rename it"
            )
    for name in config["controls"]["human"]:
        if name not in config["datasets"]:
            near = near_miss(name, config["datasets"])
            raise ConfigError(f"controls.human: '{name}' is not a dataset{near}")


def _check_likelihood(config: Config) -> None:
    settings = config.get("likelihood") or {}
    for name in settings.get("datasets", []):
        if name not in config["datasets"]:
            near = near_miss(name, config["datasets"])
            raise ConfigError(f"likelihood.datasets: '{name}' is not a dataset{near}")
    entries = selected(config, "models").values()
    if settings and all(isinstance(entry, Mapping) and is_chat(entry) for entry in entries):
        raise ConfigError(
            "likelihood: found settings for models that are all behind a chat API, which tells no "
            "likelihood of a text; set `likelihood: off`"
        )


def _check_files(config: Config) -> None:
    for name, dataset in prepared_datasets(config).items():
        files = by_language(dataset)
        _check_split(name, dataset)
        if isinstance(dataset.get("sha256"), Mapping if None in files else str):
            raise ConfigError(
                f"datasets.{name}.sha256: expected one hash for each file; name the files and the "
                "hashes by the same languages"
            )
        try:
            own = [] if "hub" in dataset else paths_of(dataset)
        except ConfigError as error:
            raise ConfigError(f"datasets.{name}: {error}") from error
        paths = [dataset.get("instruction"), *own]
        for path in filter(None, paths):
            if not Path(path).is_file():
                raise ConfigError(
                    f"datasets.{name}: '{path}' does not exist or is no file; correct the path or "
                    "leave the dataset out with run.datasets"
                )
        for one in files.values():
            if "hub" not in one and "sha256" in one and Path(one["file"]).is_file():
                check_sha256(one["file"], one["sha256"])
    templates = [
        (f"models.{name}.chat_template", entry.get("chat_template"))
        for name, entry in selected(config, "models").items()
        if isinstance(entry, Mapping)
    ]
    for where, template in templates:
        if template is not None and not Path(template).is_file():
            raise ConfigError(
                f"{where}: '{template}' does not exist or is no file; correct the path"
            )


def _check_split(name: str, dataset: Mapping[str, Any]) -> None:
    """Check that an entry says one of two things: a file, or a split of a dataset on the hub."""
    of_file, of_split = ("sha256", "rows", "columns"), ("config", "split", "files")
    wrong = of_file if is_streamed(dataset) else of_split
    for key in wrong:
        if key in dataset:
            meant = "a `file`" if wrong == of_file else "a split of `hub`, without `file`"
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
    """Check that entries with `turns` ask for nothing that belongs to one of the turns alone."""
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
                found = f"datasets.{name}.turns: found {dataset['turns']!r}"
                raise ConfigError(f"{found}, which {fault}")


def _check_nodes(config: Config) -> None:
    """Check that GPUs spread evenly: each node gets the same part of every layer."""
    models = {
        f"models.{name}": config["model_defaults"] | entry
        for name, entry in selected(config, "models").items()
        if isinstance(entry, Mapping)
    }
    for where, entry in models.items():
        if entry["gpus"] % entry.get("nodes", 1):
            raise ConfigError(
                f"{where}.gpus: found {entry['gpus']} for {entry['nodes']} nodes; expected as many "
                "on each node: set `gpus` to a multiple of `nodes`"
            )


def check_predictions(config: Mapping[str, Any]) -> None:
    """Check each prediction for what the schema cannot express.

    Raises:
        ConfigError: the first that is wrong.
    """
    for name, one in config.get("predictions", {}).items():
        for key in ("model", "dataset", "perturbation"):
            known = ["none", *config[f"{key}s"]] if key == "perturbation" else config[f"{key}s"]
            given = [one[key], *_ends(one, key)] if key in one else _ends(one, key)
            for value in given:
                if value not in known:
                    near = near_miss(value, known)
                    raise ConfigError(f"predictions.{name}: '{value}' is no {key}{near}")
        for is_wrong, expected in (
            (("model" in one) == ("family" in one), "either `model` or `family`"),
            (not {"above", "below"} & set(one), "`above`, `below` or both"),
            (one.get("above", -2) >= one.get("below", 2), "`above` to be less than `below`"),
            (len(one.get("against", {"": 0})) != 1, "one key in `against`"),
            (one.get("of") == "accuracy" and "against" in one, "no `against` for accuracy"),
        ):
            if is_wrong:
                found = ", ".join(f"{key}: {value}" for key, value in one.items())
                raise ConfigError(
                    f"predictions.{name}: found {found or 'nothing'}, expected {expected}"
                )


def _ends(one: Mapping[str, Any], key: str) -> list[str]:
    """Return the baseline of a predicted change, if it is of this kind."""
    against = one.get("against", {})
    return [against[key]] if key in against else []


def check(config: Config) -> None:
    """Check that a configuration can be run.

    Raises:
        ConfigError: an unknown key, a wrong value, a selection that is not defined, a missing file.
    """
    validate(config)
    _check_selection(config)
    check_formats(config)
    _check_controls(config)
    _check_likelihood(config)
    _check_files(config)
    _check_turns(config)
    _check_nodes(config)
    check_predictions(config)
