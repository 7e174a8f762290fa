"""The limits of the user's associations and QOS, as sacctmgr tells them, and what they refuse."""

import re
from collections.abc import Iterator, Mapping, Sequence
from getpass import getuser
from typing import NamedTuple

from userturn.errors import near_miss
from userturn.slurm.nodes import gpus_asked
from userturn.slurm.scheduler import Attempt, CheckResult, minutes, run
from userturn.slurm.submission import Profile

OF_ACCOUNT = {
    "Account": "",
    "DefaultQOS": "",
    "QOS": "",
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
    qos: frozenset[str] = frozenset()  # that an account may use


def _limit(kind: str, value: str) -> int | None:
    if kind == "minutes":
        return minutes(value)
    if kind == "gpus":
        match = re.search(r"gres/gpu=(\d+)", value)
        return int(match[1]) if match else None
    return int(value) if value.isdigit() else None


def read_owners(output: str, fields: Mapping[str, str]) -> dict[str, Owner]:
    """Return the owners that `sacctmgr --parsable2` tells with some fields, by lower-case name.

    Of several limits of one kind, as of several associations of an account, the lowest counts.
    """
    owners: dict[str, Owner] = {}
    for line in output.splitlines():
        values = dict(zip(fields, line.split("|"), strict=False))
        name = values.get("Account") or values.get("Name", "")
        kind = "account" if "Account" in fields else "QOS"
        default, usable = (values.get(key, "").lower() for key in ("DefaultQOS", "QOS"))
        new = Owner(f"{kind} {name}", {}, default, frozenset(filter(None, usable.split(","))))
        owner = owners.setdefault(name.lower(), new)
        for field, of in fields.items():
            limit = _limit(of, values.get(field, "")) if of else None
            if limit is not None:
                owner.limits[of] = min(limit, owner.limits.get(of, limit))
    return owners


def _ask(what: Sequence[str], fields: Mapping[str, str]) -> dict[str, Owner]:
    done = run(["sacctmgr", "-n", "-P", "show", *what, f"format={','.join(fields)}"])
    return {} if done.returncode else read_owners(done.stdout, fields)


class Accounting(NamedTuple):
    """What jobs of this user may be charged to, by lower-case name; nothing without accounting."""

    accounts: Mapping[str, Owner]
    qos: Mapping[str, Owner]
    default: str  # account

    def account(self, options: Mapping[str, str]) -> Owner | None:
        """Return the account that a job with some sbatch options is charged to, if it is known."""
        return self.accounts.get(options.get("--account", self.default).lower())


def accounting() -> Accounting:
    """Return what sacctmgr tells of this user."""
    me = getuser()
    default = run(["sacctmgr", "-n", "-P", "show", "user", me, "format=DefaultAccount"]).stdout
    accounts = _ask(["assoc", f"user={me}"], OF_ACCOUNT)
    return Accounting(accounts, _ask(["qos"], OF_QOS), default.strip())


def owners_of(attempts: Sequence[Attempt], accounts: Accounting) -> dict[str, list[Owner]]:
    """Return by job, such as `model x`, the accounts and QOS that it is charged to."""
    by_job: dict[str, list[Owner]] = {}
    for attempt in attempts:
        account = accounts.account(attempt.options)
        default = account.default_qos if account else ""
        qos = accounts.qos.get(attempt.options.get("--qos", default).lower())
        by_job[attempt.job] = [owner for owner in (account, qos) if owner is not None]
    return by_job


def look_at_qos(attempts: Sequence[Attempt], accounts: Accounting) -> Iterator[CheckResult]:
    """Check that each QOS that is named exists, and that the job's account may use it."""
    output = run(["scontrol", "show", "config"]).stdout
    enforced = re.search(r"^AccountingStorageEnforce\s*=.*\bqos\b", output, re.MULTILINE)
    told: set[str] = set()
    for attempt in attempts if accounts.qos else ():
        qos, account = attempt.options.get("--qos", "").lower(), accounts.account(attempt.options)
        if not qos or qos in told:
            continue
        told.add(qos)
        trouble = None
        if qos not in accounts.qos:
            trouble = f"correct qos: the cluster has no '{qos}'{near_miss(qos, accounts.qos)}"
        elif enforced and account and account.qos and qos not in account.qos:
            trouble = f"correct qos: {account.name} may not use it{near_miss(qos, account.qos)}"
        yield CheckResult(f"QOS {qos} of the job of {attempt.job}", trouble)


def look_at_limits(
    attempts: Sequence[Attempt], owners: Mapping[str, Sequence[Owner]], profile: Profile
) -> Iterator[CheckResult]:
    """Check the limits of accounts and QOS: which jobs never start, and how many wait outside."""
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
    yield from _check_submissions(owners, profile)


def _beyond(attempt: Attempt, owner: Owner) -> str | None:
    wishes = {
        "minutes": minutes(attempt.options.get("--time", "")),
        "gpus": gpus_asked(attempt.options)[1] * int(attempt.options.get("--nodes", 1)),
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


def _check_submissions(
    owners: Mapping[str, Sequence[Owner]], profile: Profile
) -> Iterator[CheckResult]:
    n_jobs = int(profile["jobs"]) if str(profile.get("jobs")).isdecimal() else len(owners)
    n_submitted = min(n_jobs, len(owners))
    of_all = {owner.name: owner for of_job in owners.values() for owner in of_job}
    for owner in of_all.values():
        most = owner.limits.get("submitted")
        if most == 0:
            trouble = "no job may be submitted; name another account or QOS in the profile"
            yield CheckResult(f"{owner.name} takes jobs", trouble)
        elif most is not None and n_submitted > most:
            yield CheckResult(
                f"{owner.name} takes {n_submitted} jobs at once",
                f"at most {most} may be submitted, so others would be refused until these end; set "
                f"`jobs: {most}` in the profile",
            )
        running = owner.limits.get("running")
        if running is not None and n_submitted > running and (most is None or n_submitted <= most):
            yield CheckResult(
                f"{owner.name} runs {running} of {n_submitted} jobs at once; others wait"
            )
