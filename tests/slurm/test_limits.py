"""Limits of an account or QOS are told before a job is queued, with what to set instead."""

from typing import Any

import pytest

from userturn.slurm.limits import (
    OF_ACCOUNT,
    OF_QOS,
    Owner,
    accounting,
    look_at_limits,
    owners_of,
    read_owners,
)
from userturn.slurm.scheduler import Attempt

# Account, DefaultQOS, QOS, MaxSubmitJobs, GrpSubmitJobs, MaxJobs, MaxWall, MaxTRES, GrpTRES
ACCOUNTS = "lab|long|long,short|4|10|2|1-00:00:00||cpu=64,gres/gpu=8\nfree||||||||\n"
QOS = "long||||||2-00:00:00||\nshort|2||||01:00:00|cpu=8,gres/gpu=1|\n"


def jobs(n: int, **options: str) -> list[Attempt]:
    asked = {"--" + key: value for key, value in ({"time": "60", "gpus": "1"} | options).items()}
    return [Attempt(f"model m{i}", 1, asked) for i in range(n)]


def told(attempts: list[Attempt], profile: dict[str, Any], **limits: int) -> list[str]:
    """Return what is wrong for jobs of one account."""
    owners = {attempt.job: [Owner("account lab", limits)] for attempt in attempts}
    found = look_at_limits(attempts, owners, profile)
    return [f"{result.what}: {result.trouble}" for result in found if result.trouble]


def test_limits_are_read_and_the_lowest_of_a_kind_counts() -> None:
    accounts = read_owners(ACCOUNTS, OF_ACCOUNT)
    assert accounts["lab"] == (
        "account lab",
        {"submitted": 4, "running": 2, "minutes": 1440, "gpus": 8},
        "long",
        {"long", "short"},
    )
    assert accounts["free"].limits == {}
    short = read_owners(QOS, OF_QOS)["short"]
    assert short == ("QOS short", {"submitted": 2, "minutes": 60, "gpus": 1}, "", set())


@pytest.mark.parametrize(
    ("options", "limits", "said"),
    [
        ({"time": "61"}, {"minutes": 60}, "asks for 61 minutes, and the limit is 60"),
        ({"gpus": "h100:4"}, {"gpus": 2}, "asks for 4 gpus, and the limit is 2"),
        ({"gpus": "", "gres": "gpu:h100:4", "nodes": "2"}, {"gpus": 7}, "asks for 8 gpus"),
    ],
)
def test_a_job_beyond_a_limit_is_named(
    options: dict[str, str], limits: dict[str, int], said: str
) -> None:
    (line,) = told(jobs(1, **options), {}, **limits)
    assert said in line


def test_a_job_at_a_limit_is_well() -> None:
    assert told(jobs(1, time="60", gpus="2"), {"jobs": 50}, minutes=60, gpus=2, submitted=1) == []


@pytest.mark.parametrize(
    ("n", "profile", "proposed"),
    [(5, {"jobs": 50}, ["3"]), (3, {"jobs": 50}, []), (5, {"jobs": 3}, []), (5, {}, ["3"])],
)
def test_jobs_are_proposed_where_fewer_may_be_submitted(
    n: int, profile: dict[str, Any], proposed: list[str]
) -> None:
    lines = told(jobs(n), profile, submitted=3)
    assert [line.partition("set `jobs: ")[2].partition("`")[0] for line in lines] == proposed


def test_an_account_that_takes_no_job_is_named() -> None:
    (line,) = told(jobs(1), {}, submitted=0)
    assert "no job may be submitted" in line


def test_without_accounting_there_are_no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    attempts = jobs(2)
    owners = owners_of(attempts, accounting())
    assert list(look_at_limits(attempts, owners, {})) == []
