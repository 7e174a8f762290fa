"""What a run says of its settings before its first job is submitted."""

from collections.abc import Iterator
from typing import Any

from userturn.errors import UserError
from userturn.slurm.profile_names import misnamed
from userturn.slurm.scheduler import (
    PASSES,
    Attempt,
    kinds_of_nodes,
    look_at_accounts,
    look_at_requests,
    partitions,
    refusal,
)
from userturn.slurm.submission import as_words, options_of


def mistakes_of(workflow: Any) -> Iterator[str]:
    """Yield which settings a run loses, and which jobs SLURM would refuse or never start.

    Nothing is said of jobs while its controller does not answer.

    Raises:
        UserError: an account is none of the user's, or sbatch refuses every job. What it takes may
            run after all, where a site's own rules change jobs.
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
