"""A job's sbatch options with those of a Snakemake profile, as the plugin (2.8.0) passes them."""

import os
import shlex
import shutil
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from userturn.config.load import read_config_file
from userturn.config.slurm_resources import ResourceEntry, sbatch_options
from userturn.errors import UserError, near_path

RULES = {"model": "sweep", "training": "train", "judge": "serve_judge"}  # by the kind of an entry
PLACE_OF = {  # resources of Snakemake that say where a job may run, and who pays
    "slurm_account": "--account",
    "slurm_partition": "--partition",
    "qos": "--qos",
    "constraint": "--constraint",
}
SIZES = {
    "mem_mb": "--mem",
    "mem": "--mem",
    "runtime": "--time",
    "nodes": "--nodes",
    "gres": "--gres",
}
GPUS = ("gpu", "gres")  # either asks for GPUs

Profile = Mapping[str, Any]
Options = dict[str, str]


def read_profile(folder: Path) -> dict[str, Any]:
    """Return a profile's settings.

    Raises:
        UserError: there is no profile, or it cannot be read.
    """
    path = folder / "config.yaml"
    if not path.is_file():
        raise UserError(
            f"profile '{path}' does not exist; run this in the project's folder, or correct the "
            f"path{near_path(path)}"
        )
    return read_config_file(path)


def _value(key: str, given: Any, of_job: Mapping[str, Any]) -> Any:
    """Return a resource's value for one job, with text evaluated as Python as Snakemake does.

    Raises:
        UserError: the text is Python that fails, or whose value is neither a text nor a number.
    """
    if not isinstance(given, str):
        return given
    text = os.path.expandvars(given)
    try:
        value = eval(text, {"shutil": shutil, **of_job})
    except (NameError, SyntaxError):
        return text
    except Exception as error:
        raise UserError(
            f"the profile's {key} is '{given}', which Python refuses ({error}); correct it, or "
            "quote it twice, \"'...'\", if it is a text"
        ) from error
    if not isinstance(value, str | int | float | None):
        raise UserError(
            f"the profile's {key} is '{given}', which is a {type(value).__name__} of Python; quote "
            f"it twice: \"'{given}'\""
        )
    return value


def job_options(
    profile: Profile, rule: str, entry: ResourceEntry, attempt: int, name: str = ""
) -> Options:
    """Return the sbatch options of one attempt at a job, by name.

    The profile's settings for the rule override the entry, and the entry overrides the profile's
    defaults. A setting may be an expression over the job's wildcards. `name` is the model or judge.

    Raises:
        UserError: an expression, a size or a time cannot be read.
    """
    own = _resources_of(profile, rule)
    wildcards = SimpleNamespace(model=name, judge=name, shard=f"1of{entry.get('shards', 1)}")
    threads = next(o for o in sbatch_options(entry, attempt) if "cpus" in o).partition("=")[2]
    of_job = {"wildcards": wildcards, "attempt": attempt, "threads": int(threads), "input": ()}
    given = {k: _value(k, v, of_job) for k, v in {**_defaults(profile), **own}.items()}
    options = {option: str(given[key]) for key, option in PLACE_OF.items() if given.get(key)}
    options |= dict(option.split("=", 1) for option in sbatch_options(entry, attempt))
    options |= {option: str(given[key]) for key, option in PLACE_OF.items() if own.get(key)}
    for key, option in SIZES.items():
        if own.get(key):
            options[option] = _size(key, given[key])
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


def _size(key: str, value: Any) -> str:
    """Return a size as sbatch takes it, in minutes or MB for Snakemake's forms such as 2h or 8GB.

    Raises:
        UserError: it is no size or time.
    """
    from humanfriendly import InvalidSize, InvalidTimespan, parse_size, parse_timespan

    try:
        if isinstance(value, str) and key == "runtime" and not value.isdecimal():
            return str(max(round(parse_timespan(value) / 60), 1))
        if isinstance(value, str) and key == "mem" and not value.isdecimal():
            return str(max(ceil(parse_size(value) / 1e6), 1))
    except (InvalidSize, InvalidTimespan) as error:
        raise UserError(
            f"the profile's {key} is '{value}', expected minutes or a time such as 2h, MB or a "
            "size such as 8GB; correct it"
        ) from error
    return str(value)


def _resources_of(profile: Profile, rule: str) -> dict[str, Any]:
    """Return a rule's `set-resources`, which may also be written as a list of RULE:KEY=VALUE."""
    given = profile.get("set-resources") or {}
    if isinstance(given, list):
        split = [str(one).partition(":") for one in given]
        return dict(pair.split("=", 1) for name, _, pair in split if name == rule and "=" in pair)
    return dict(given.get(rule) or {})


def _defaults(profile: Profile) -> dict[str, Any]:
    """Return `default-resources`, which may also be written as a list of KEY=VALUE."""
    given = profile.get("default-resources") or {}
    if isinstance(given, list):
        return dict(str(pair).split("=", 1) for pair in given)
    return dict(given)


def as_words(options: Mapping[str, str]) -> list[str]:
    """Return options as arguments of sbatch, such as --mem=64000."""
    return [f"{name}={value}" if value else name for name, value in options.items()]


def n_attempts(profile: Profile) -> int:
    """Return how many attempts a job has."""
    retries = profile.get("retries") or 0
    if not str(retries).isdecimal():
        raise UserError(
            f"the profile's retries is {retries!r}, expected a whole number; correct it"
        )
    return 1 + int(retries)


def partitions_of(options: Mapping[str, str]) -> list[str]:
    """Return the partitions that options name, or none for the cluster's default."""
    named = options.get("--partition", options.get("-p", ""))
    return [name for name in named.split(",") if name]
