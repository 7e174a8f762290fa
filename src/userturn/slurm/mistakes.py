"""What is said of settings before a first job is submitted: lost names, and refused jobs."""

import re
import sys
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache
from typing import Any

from userturn.errors import UserError
from userturn.slurm.scheduler import (
    PASSES,
    Attempt,
    kinds_of_nodes,
    look_at_accounts,
    look_at_requests,
    partitions,
    refusal,
    run,
)
from userturn.slurm.submission import (
    OPTIONS,
    SIZES,
    Profile,
    as_words,
    options_of,
    profile_resources,
)


def mistakes_of(workflow: Any) -> Iterator[str]:
    """Yield which settings a run loses, and which jobs SLURM would refuse or never start.

    Nothing is said of jobs while its controller does not answer.

    Raises:
        UserError: an account is none of the user's, or sbatch refuses every job. A job that sbatch
            takes may run after all, where a site's own rules change jobs.
    """
    overrides = workflow.resource_settings
    profile = {
        "set-resources": overrides.overwrite_resources,
        "set-threads": overrides.overwrite_threads,
    }
    yield from misnamed(profile, [rule.name for rule in workflow.rules])
    jobs = _submitted(workflow)
    try:
        looks = list(look_at_requests(jobs, partitions(), kinds_of_nodes()))
    except UserError:
        return
    bad = [look for look in looks if look.trouble and not PASSES.search(look.trouble)]
    account = look_at_accounts(jobs)
    if account and account.trouble:  # the plugin itself submits nothing then
        raise UserError(f"{account.what}: {account.trouble}")
    refusals = [f"{look.what}: {look.trouble}" for look in bad]
    if refusals and all(refusal(as_words(job.options)) for job in jobs):
        raise UserError("; ".join(refusals))
    yield from refusals


def _submitted(workflow: Any) -> list[Attempt]:
    settings = workflow.executor_settings
    of_all = {"qos": settings.qos, "reservation": settings.reservation}
    of_all = {name: value for name, value in of_all.items() if value}
    return [
        Attempt(
            f"{job.rule.name} {' '.join(map(str, job.wildcards))}",
            1,
            options_of(dict(job.resources.items()) | of_all, job.threads),
        )
        for job in workflow.dag.needrun_jobs()
        if not job.is_local
    ]


RESOURCES = {  # that Snakemake and the plugin (2.8.0) know
    *(*OPTIONS, *SIZES, "gpu_model", "slurm_extra", "mem_mb_per_cpu", "cpus_per_task", "mpi"),
    *("cpus_per_gpu", "tasks", "tasks_per_gpu", "tasks_per_node", "clusters", "disk", "disk_mb"),
    *("tmpdir", "slurm_cluster", "cluster", "mem_mib", "disk_mib"),
}
ALIKE = 0.7  # a name that is less like any known one may be somebody's own


def _meant(name: str, options: Iterable[str]) -> str | None:
    """Return the known name that a name most likely stands for; None if it is known or no typo."""
    options = list(options)
    return None if name in options else next(iter(get_close_matches(name, options, 1, ALIKE)), None)


def misnamed(profile: Profile, rules: Iterable[str]) -> Iterator[str]:
    """Yield a sentence on each rule and resource that a profile sets and that is likely a typo."""
    rules = list(rules)
    of_rules = profile_resources(profile)
    for rule in dict.fromkeys([*of_rules, *(profile.get("set-threads") or {})]):
        if meant := _meant(rule, rules):
            yield f"the profile sets resources of rule '{rule}', did you mean '{meant}'?"
    for key in dict.fromkeys(key for resources in of_rules.values() for key in resources):
        if meant := _meant(key, RESOURCES):
            yield f"the profile sets resource '{key}', did you mean '{meant}'?"


def unknown_options(profile: Profile) -> Iterator[str]:
    """Yield a sentence on each setting of a profile that Snakemake refuses."""
    options = _options()
    for key in profile if options else ():
        if key not in options and key[:1].isalpha():  # not those of a template
            meant = _meant(key, options)
            like = f", did you mean '{meant}'?" if meant else "; remove it"
            yield f"the profile sets '{key}', which Snakemake does not know{like}"


@cache
def _options() -> set[str]:
    """Return the long options that Snakemake and its plugins take; none if it does not run."""
    help_text = run([sys.executable, "-m", "snakemake", "--help"]).stdout
    return set(re.findall(r"--([a-z][\w-]+)", help_text))
