"""Checks of SLURM's scheduler: would it accept the jobs of a study?"""

import re
import subprocess
from collections.abc import Iterator
from typing import cast

from userturn.config.entries import ModelEntry
from userturn.config.trained_models import training_entry
from userturn.slurm.resources import SETTINGS, sbatch_options
from userturn.study.grid import Grid

Look = tuple[str, str | None]  # what was checked; the fault and its fix, or None


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command and return its code and what it wrote."""
    return subprocess.run(command, text=True, capture_output=True, check=False)


def reason(said: str) -> str:
    """Return the first error that a SLURM command wrote."""
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line or "failure" in line] or lines
    return errors[0].strip() if errors else "nothing"


def entries_of_jobs(grid: Grid) -> dict[str, ModelEntry]:
    """Return the entries of models, trainings and served judges, each of which has its own job."""
    defaults = grid.config["model_defaults"]
    served = {name: entry for name, entry in grid.judges.items() if entry.get("serve")}
    entries = {f"model {name}": entry for name, entry in grid.models.items()}
    entries |= {f"training of {name}": training_entry(grid.entries[name]) for name in grid.trained}
    for name, entry in served.items():
        entries[f"judge {name}"] = cast(ModelEntry, {**defaults, **entry, "source": entry["model"]})
    return entries


def look_at_requests(grid: Grid, submission: list[str]) -> Iterator[Look]:
    """Ask the scheduler whether it would accept each job; equal requests once."""
    entries = entries_of_jobs(grid)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, entry in entries.items():
        wishes = [*submission, *sbatch_options(entry)]
        alike.setdefault(tuple(wishes), []).append(name)
    for options, names in alike.items():
        done = run(["sbatch", "--test-only", *options, "--wrap", "true"])
        wish = " ".join(options)
        yield (
            f"job of {', '.join(names)} ({wish})",
            None
            if done.returncode == 0
            else f"sbatch says '{reason(done.stderr)}'; correct account and partition in the "
            f"profile, or {', '.join(SETTINGS)} in the model's entry "
            "(cores: `set-threads` in the profile)",
        )


def look_at_preemption(submission: list[str]) -> Look:
    """Check whether the partition of the jobs requeues preempted ones or cancels them.

    Snakemake's executor plugin (2.8.0) counts a cancelled job as neither finished nor failed, and
    waits for it forever.
    """
    what = "preempted jobs are run again"
    done = run(["scontrol", "show", "partition", "--oneliner"])
    if done.returncode:
        return what, f"scontrol says '{reason(done.stderr)}'; run this where slurmctld answers"
    given = {
        name
        for option in submission
        if option.startswith("--partition=")
        for name in option.removeprefix("--partition=").split(",")
    }
    partitions = re.findall(r"PartitionName=(\S+).* Default=(\S+).* PreemptMode=(\S+)", done.stdout)
    ended = [
        name
        for name, is_default, mode in partitions
        if mode == "CANCEL" and (name in given if given else is_default == "YES")
    ]
    if not ended:
        return what, None
    return what, (
        f"PreemptMode is CANCEL in {', '.join(ended)}, and Snakemake would wait for such a job for "
        "ever; give another slurm_partition in the profile, or a QOS that is not preempted, or "
        "stop Snakemake with Ctrl-C then and run the same command again"
    )
