"""The limits of the user's associations and QOS, by sacctmgr, and the jobs that they refuse."""

import re
from collections.abc import Iterator, Mapping, Sequence
from getpass import getuser
from typing import NamedTuple

from userturn.slurm.scheduler import Attempt, CheckResult, minutes, run
from userturn.slurm.submission import Profile

OF_ACCOUNT = {
    "Account": "",
    "DefaultQOS": "",
    "MaxSubmitJobs": "submitted",
    "GrpSubmitJobs": "submitted",
    "MaxJobs": "running",
    "MaxWall": "minutes",
    "MaxTRES": "gpus",
    "GrpTRES": "gpus",
}
OF_QOS = {
    "Name": "",
    "MaxSubmitJobsPerUser": "submitted",
    "MaxSubmitJobsPerAccount": "submitted",
    "GrpSubmitJobs": "submitted",
    "MaxJobsPerUser": "running",
    "MaxWall": "minutes",
    "MaxTRES": "gpus",
    "MaxTRESPerUser": "gpus",
}
Limits = dict[str, int]
"""What SLURM allows at most: jobs `submitted` and `running` at once, `minutes` and `gpus` a job."""


class Owner(NamedTuple):
    """An account or QOS, and its limits."""

    name: str  # such as account lab
    limits: Limits
    default_qos: str = ""


def _limit(kind: str, said: str) -> int | None:
    if kind == "minutes":
        return minutes(said)
    if kind == "gpus":
        found = re.search(r"gres/gpu=(\d+)", said)
        return int(found[1]) if found else None
    return int(said) if said.isdigit() else None


def read_owners(said: str, fields: Mapping[str, str]) -> dict[str, Owner]:
    """Return the owners in the output of `sacctmgr --parsable2`, by lower-case name.

    Of several limits of one kind, such as those of an account's associations, the lowest counts.
    """
    found: dict[str, Owner] = {}
    for line in said.splitlines():
        values = dict(zip(fields, line.split("|"), strict=False))
        name = values.get("Account") or values.get("Name", "")
        kind = "account" if "Account" in fields else "QOS"
        owner = found.setdefault(
            name.lower(), Owner(f"{kind} {name}", {}, values.get("DefaultQOS", "").lower())
        )
        for field, of in fields.items():
            limit = _limit(of, values.get(field, "")) if of else None
            if limit is not None:
                owner.limits[of] = min(limit, owner.limits.get(of, limit))
    return found


def _ask(what: Sequence[str], fields: Mapping[str, str]) -> dict[str, Owner]:
    done = run(["sacctmgr", "-n", "-P", "show", *what, f"format={','.join(fields)}"])
    return {} if done.returncode else read_owners(done.stdout, fields)


def owners_of(attempts: Sequence[Attempt]) -> dict[str, list[Owner]]:
    """Return the accounts and QOS to which each job is charged, by job, such as `model x`."""
    me = getuser()
    accounts = _ask(["assoc", f"user={me}"], OF_ACCOUNT)
    qos = _ask(["qos"], OF_QOS)
    default = run(["sacctmgr", "-n", "-P", "show", "user", me, "format=DefaultAccount"]).stdout
    found: dict[str, list[Owner]] = {}
    for attempt in attempts:
        name = attempt.options.get("--account", default.strip()).lower()
        account = accounts.get(name)
        named = attempt.options.get("--qos", account.default_qos if account else "").lower()
        found[attempt.job] = [owner for owner in (account, qos.get(named)) if owner is not None]
    return found


def look_at_limits(
    attempts: Sequence[Attempt], owners: Mapping[str, Sequence[Owner]], profile: Profile
) -> Iterator[CheckResult]:
    """Check which jobs never start, or cannot all be submitted, by limits of accounts and QOS."""
    if not any(owner.limits for of_job in owners.values() for owner in of_job):
        return
    told: set[str] = set()
    for attempt in attempts:
        for owner in owners[attempt.job]:
            trouble = _beyond(attempt, owner)
            if trouble and attempt.job not in told:
                told.add(attempt.job)
                yield CheckResult(f"limits of {owner.name} for the job of {attempt.job}", trouble)
    if not told:
        yield CheckResult("no job is beyond a limit of its account or QOS")
    yield from _at_once(owners, profile)


def _beyond(attempt: Attempt, owner: Owner) -> str | None:
    wishes = {
        "minutes": minutes(attempt.options.get("--time", "")),
        "gpus": _n_gpus(attempt.options),
    }
    for kind, wish in wishes.items():
        limit = owner.limits.get(kind)
        if limit is not None and wish is not None and wish > limit:
            key = {"minutes": "runtime or max_runtime", "gpus": "gpus"}[kind]
            return (
                f"attempt {attempt.number} asks for {wish} {kind}, and the limit is {limit}: it "
                f"would be refused or wait for ever; lower {key} in its entry, or name another "
                "account or QOS in the profile"
            )
    return None


def _n_gpus(options: Mapping[str, str]) -> int | None:
    """Return the number of GPUs that sbatch options ask for on all nodes, or None."""
    found = re.search(r"(\d+)$", options.get("--gpus", ""))
    if found:
        return int(found[1])
    found = re.search(r"gpu(?::[^,:]+)?:(\d+)", options.get("--gres", ""))
    return int(found[1]) * int(options.get("--nodes", 1)) if found else None


def _at_once(owners: Mapping[str, Sequence[Owner]], profile: Profile) -> Iterator[CheckResult]:
    """Yield a check for each limit on submitted jobs that is below the profile's `jobs`."""
    given = int(profile["jobs"]) if str(profile.get("jobs")).isdecimal() else len(owners)
    wanted = min(given, len(owners))
    of_all = {owner.name: owner for of_job in owners.values() for owner in of_job}
    for owner in of_all.values():
        most = owner.limits.get("submitted")
        if most == 0:
            trouble = "no job may be submitted; name another account or QOS in the profile"
            yield CheckResult(f"{owner.name} takes jobs", trouble)
        elif most is not None and wanted > most:
            yield CheckResult(
                f"{owner.name} takes {wanted} jobs at once",
                f"at most {most} may be submitted, so others would be refused until these end; set "
                f"`jobs: {most}` in the profile",
            )
        running = owner.limits.get("running")
        if running is not None and wanted > running and (most is None or wanted <= most):
            yield CheckResult(f"{owner.name} runs {running} of {wanted} jobs at once; others wait")
