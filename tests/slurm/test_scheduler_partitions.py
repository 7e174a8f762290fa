"""Limits of a partition, and the jobs that they would leave waiting for ever."""

import pytest

from userturn.slurm.scheduler import minutes, never_starts, read_partitions

SAID = """\
PartitionName=gpu Default=YES MaxNodes=2 MaxTime=04:00:00 PreemptMode=CANCEL MaxMemPerNode=64000
PartitionName=slow Default=NO MaxNodes=UNLIMITED MaxTime=UNLIMITED PreemptMode=OFF State=DOWN
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UNLIMITED", None),
        ("INFINITE", None),
        ("30", 30),
        ("30:59", 30),
        ("04:00:00", 240),
        ("1-00:00:00", 1440),
        ("2-12", 3600),  # two days and twelve hours
        ("1-01:30", 1530),
    ],
)
def test_times_of_slurm_are_read_in_each_of_their_forms(text: str, expected: int | None) -> None:
    assert minutes(text) == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"--time": "240", "--mem": "64000", "--nodes": "2"}, None),
        ({"--time": "241"}, "--time=241 is beyond 240, the limit of gpu"),
        ({"--time": "1-00:00:00"}, "--time=1-00:00:00 is beyond 240, the limit of gpu"),
        ({"--mem": "64001"}, "--mem=64001 is beyond 64000, the limit of gpu"),
        ({"--nodes": "3"}, "--nodes=3 is beyond 2, the limit of gpu"),
        ({}, None),
    ],
)
def test_a_wish_beyond_a_limit_is_named(options: dict[str, str], said: str | None) -> None:
    assert never_starts(read_partitions(SAID)["gpu"], options) == said


@pytest.mark.parametrize(
    ("line", "options", "said"),
    [
        ("AllowAccounts=lab,other AllowQos=ALL", {"--account": "Lab", "--qos": "any"}, None),
        ("AllowAccounts=other", {"--account": "lab"}, "p starts no jobs with --account=lab"),
        ("DenyAccounts=lab,root", {"--account": "lab"}, "p starts no jobs with --account=lab"),
        ("AllowQos=long", {"--qos": "short"}, "p starts no jobs with --qos=short"),
        ("AllowQos=long AllowAccounts=other", {}, None),  # the user's defaults are not known here
        ("MinNodes=2", {"--nodes": "1"}, "jobs of p have at least 2 nodes"),
        ("MinNodes=2", {"--nodes": "2"}, None),
    ],
)
def test_a_partition_that_is_for_others_is_named(
    line: str, options: dict[str, str], said: str | None
) -> None:
    assert never_starts(read_partitions(f"PartitionName=p {line}")["p"], options) == said


def test_partitions_are_read_with_their_default_mode_and_state() -> None:
    gpu, slow = read_partitions(SAID).values()
    assert (gpu.is_default, gpu.preempt_mode, gpu.is_up) == (True, "CANCEL", True)
    assert never_starts(slow, {"--time": "9999"}) == "partition slow is not up"
