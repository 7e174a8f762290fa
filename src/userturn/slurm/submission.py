"""What a Snakemake profile adds to a job's sbatch options, as the plugin (2.8.0) passes them."""

import os
import shlex
import shutil
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from userturn.config.job_resources import ResourceEntry, cores_of, resources_of
from userturn.config.load import read_config_file
from userturn.errors import UserError, near_path

RULES = {"model": "sweep", "training": "train", "judge": "serve_judge"}  # by the kind of an entry
OPTIONS = {  # of sbatch, by the resource of Snakemake that each is made of
    "slurm_account": "--account",
    "slurm_partition": "--partition",
    "qos": "--qos",
    "constraint": "--constraint",
    "reservation": "--reservation",
    "gpu": "--gpus",
    "gres": "--gres",
    "nodes": "--nodes",
    "mem_mb": "--mem",
    "runtime": "--time",
}
SIZES = ("mem", "mem_mb", "runtime")  # resources that a profile may give as a text

Profile = Mapping[str, Any]
Options = dict[str, str]


def read_profile(folder: Path) -> dict[str, Any]:
    """Return a profile's settings, or raise UserError."""
    path = folder / "config.yaml"
    if not path.is_file():
        raise UserError(
            f"profile '{path}' does not exist; run this in the project's folder, or correct the "
            f"path{near_path(path)}"
        )
    return read_config_file(path)


def _value(key: str, setting: Any, of_job: Mapping[str, Any]) -> Any:
    """Return a resource's value for one job: Snakemake evaluates text in it as Python."""
    if not isinstance(setting, str):
        return setting
    text = os.path.expandvars(setting)
    try:
        value = eval(text, {"shutil": shutil, **of_job})
    except (NameError, SyntaxError):
        return text
    except Exception as error:
        raise UserError(
            f"the profile's {key} is '{setting}', which Python refuses ({error}); correct it, or "
            "quote it twice, \"'...'\", if it is a text"
        ) from error
    if not isinstance(value, str | int | float | None):
        raise UserError(
            f"the profile's {key} is '{setting}', which is a {type(value).__name__} of Python; "
            f"quote it twice: \"'{setting}'\""
        )
    return value


def options_of(resources: Mapping[str, Any], cores: int) -> Options:
    """Return the sbatch options that the plugin makes of a job's resources, by name."""
    options = {option: str(resources[key]) for key, option in OPTIONS.items() if resources.get(key)}
    if model := resources.get("gpu_model"):
        options["--gpus"] = f"{model}:{resources.get('gpu', 1)}"
    options["--cpus-per-task"] = str(resources.get("cpus_per_task") or cores)
    extra = shlex.split(str(resources.get("slurm_extra") or ""))
    return options | {name: value for name, _, value in (word.partition("=") for word in extra)}


def job_options(
    profile: Profile, rule: str, entry: ResourceEntry, attempt: int, name: str = ""
) -> Options:
    """Return the sbatch options of one attempt at a job, by name.

    What the profile sets for the rule stands above the entry's own; its defaults stand below. It
    may be an expression over the wildcards of the job, which is that of the model or judge `name`.

    Raises:
        UserError: an expression, a size or a time cannot be read.
    """
    wildcards = SimpleNamespace(model=name, judge=name, shard=f"1of{entry.get('shards', 1)}")
    cores = (profile.get("set-threads") or {}).get(rule) or cores_of(entry)
    of_job = {"wildcards": wildcards, "attempt": attempt, "threads": cores, "input": ()}
    settings = profile_resources(profile)
    resources = {
        **_evaluated(settings[DEFAULTS], of_job),
        **resources_of(entry, attempt),
        **_evaluated(settings.get(rule, {}), of_job),
    }
    for key in ("qos", "reservation"):  # for all jobs
        resources[key] = profile.get(f"slurm-{key}") or resources.get(key)
    return options_of(resources, cores)


def _evaluated(settings: Mapping[str, Any], of_job: Mapping[str, Any]) -> dict[str, Any]:
    """Return resources that a profile sets with their values for one job; `mem` is `mem_mb`."""
    values = {key: _value(key, value, of_job) for key, value in settings.items()}
    return {
        "mem_mb" if key == "mem" else key: _size(key, value) if key in SIZES else value
        for key, value in values.items()
    }


def _size(key: str, value: Any) -> int:
    """Return MB or minutes; Snakemake also reads 2h as minutes, and 8GB where it takes `mem`."""
    from humanfriendly import InvalidSize, InvalidTimespan, parse_size, parse_timespan

    try:
        if isinstance(value, str) and key == "runtime" and not value.isdecimal():
            number: int = max(round(parse_timespan(value) / 60), 1)
        elif isinstance(value, str) and key == "mem" and not value.isdecimal():
            number = max(ceil(parse_size(value) / 1e6), 1)
        else:
            number = int(value)
        if number < 1:
            raise ValueError(value)
    except (InvalidSize, InvalidTimespan, ValueError) as error:
        expected = {"mem": "MB or a size such as 8GB", "mem_mb": "MB, a whole number"}
        raise UserError(
            f"the profile's {key} is '{value}', expected "
            f"{expected.get(key, 'minutes or a time such as 2h')}, above 0; correct it"
        ) from error
    return number


DEFAULTS = ""  # the name under which `default-resources` stand beside those of rules


def profile_resources(profile: Profile) -> dict[str, dict[str, Any]]:
    """Return the resources that a profile sets, by rule, with those of every rule at `DEFAULTS`.

    Both settings may be mappings, or lists of KEY=VALUE and RULE:KEY=VALUE.
    """
    defaults = profile.get("default-resources") or {}
    of_rules = profile.get("set-resources") or {}
    if isinstance(defaults, list):
        defaults = dict(str(pair).split("=", 1) for pair in defaults)
    resources: dict[str, dict[str, Any]] = {DEFAULTS: dict(defaults)}
    if isinstance(of_rules, list):
        for rule, _, pair in (str(one).partition(":") for one in of_rules):
            key, _, value = pair.partition("=")
            resources.setdefault(rule, {})[key] = value
        return resources
    return resources | {rule: dict(own or {}) for rule, own in of_rules.items()}


def as_words(options: Mapping[str, str]) -> list[str]:
    """Return options as sbatch takes them, such as --mem=64000."""
    return [f"{name}={value}" if value else name for name, value in options.items()]


def n_attempts(profile: Profile) -> int:
    """Return how often a job is tried, or raise UserError if the profile has no number there."""
    retries = profile.get("retries", profile.get("restart-times")) or 0  # one option, two names
    if not str(retries).isdecimal():
        raise UserError(
            f"the profile's retries is {retries!r}, expected a whole number; correct it"
        )
    return 1 + int(retries)


def partitions_of(options: Mapping[str, str]) -> list[str]:
    """Return the partitions that options name; none for the cluster's default."""
    named = options.get("--partition", options.get("-p", ""))
    return [name for name in named.split(",") if name]
