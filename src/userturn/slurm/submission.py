"""What a Snakemake profile adds to a job's sbatch options, as the plugin (2.8.0) passes them."""

import ast
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from userturn.config.load import read_config_file
from userturn.errors import UserError
from userturn.slurm.resources import ResourceEntry, sbatch_options

RULES = {"model": "sweep", "training": "train", "judge": "serve_judge"}  # by the kind of an entry
PLACE = {  # resources of Snakemake that say where a job may run, and who pays
    "slurm_account": "--account",
    "slurm_partition": "--partition",
    "qos": "--qos",
    "constraint": "--constraint",
}
SIZES = {"mem_mb": "--mem", "runtime": "--time", "nodes": "--nodes", "gres": "--gres"}
GPUS = ("gpu", "gres")  # either asks for GPUs

Profile = Mapping[str, Any]
Options = dict[str, str]


def read_profile(folder: Path) -> dict[str, Any]:
    """Return a profile's settings.

    Raises:
        UserError: there is none, or it cannot be read.
    """
    path = folder / "config.yaml"
    if not path.is_file():
        raise UserError(f"profile '{path}' does not exist; run this in the project's folder")
    return read_config_file(path)


def _value(given: Any) -> Any:
    """Return a resource's value: Snakemake evaluates text in it as Python."""
    try:
        return ast.literal_eval(given) if isinstance(given, str) else given
    except (ValueError, SyntaxError):
        return given


def job_options(profile: Profile, rule: str, entry: ResourceEntry, attempt: int) -> Options:
    """Return the sbatch options of one attempt at a job, by name.

    What the profile sets for the rule stands above the entry's own; its defaults stand below.
    """
    own = (profile.get("set-resources") or {}).get(rule) or {}
    given = {key: _value(v) for key, v in {**_defaults(profile), **own}.items()}
    options = {option: str(given[key]) for key, option in PLACE.items() if given.get(key)}
    options |= dict(option.split("=", 1) for option in sbatch_options(entry, attempt))
    for key, option in SIZES.items():
        if own.get(key):
            options[option] = str(given[key])
    if set(GPUS) & set(own):
        options |= {"--gpus": str(given.get("gpu") or ""), "--gres": str(given.get("gres") or "")}
    if cores := (profile.get("set-threads") or {}).get(rule):
        options["--cpus-per-task"] = str(cores)
    for key, option in (("slurm-qos", "--qos"), ("slurm-reservation", "--reservation")):
        if profile.get(key):
            options[option] = str(profile[key])
    extra = shlex.split(str(given.get("slurm_extra") or ""))
    options |= {name: value for name, _, value in (word.partition("=") for word in extra)}
    return {name: value for name, value in options.items() if value or name in extra}


def _defaults(profile: Profile) -> dict[str, Any]:
    """Return `default-resources`, which may also be written as a list of KEY=VALUE."""
    given = profile.get("default-resources") or {}
    if isinstance(given, list):
        return dict(str(pair).split("=", 1) for pair in given)
    return dict(given)


def as_words(options: Mapping[str, str]) -> list[str]:
    """Return options as sbatch takes them, such as --mem=64000."""
    return [f"{name}={value}" if value else name for name, value in options.items()]


def n_attempts(profile: Profile) -> int:
    """Return how often a job is tried."""
    return 1 + int(profile.get("retries") or 0)


def partitions_of(options: Mapping[str, str]) -> list[str]:
    """Return the partitions that options name; none for the cluster's default."""
    named = options.get("--partition", options.get("-p", ""))
    return [name for name in named.split(",") if name]
