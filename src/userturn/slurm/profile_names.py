"""Names in a profile that mean nothing to Snakemake or its plugin, so that a setting is lost."""

import re
import sys
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cache

from userturn.slurm.scheduler import run
from userturn.slurm.submission import OPTIONS, SIZES, Profile, profile_resources

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
