"""What waits or runs in SLURM's queue, and whether it does what a new job would do."""

import pytest

from userturn.slurm.queue import QueuedJob, comment_of, does_the_same, read_queue


def queued(what: str) -> QueuedJob:
    return QueuedJob("15", "userturn_1f", "RUNNING", "None", "gpu1", "/study", what)


def test_lines_of_squeue_are_jobs_and_other_lines_are_none() -> None:
    said = "15|userturn_1f|PENDING|Priority||/my study|rule_sweep_wildcards_a_1of1\nslurm: hi\n"
    (job,) = read_queue(said)
    assert (job.number, job.state, job.reason, job.folder) == (
        *("15", "PENDING", "Priority"),
        "/my study",
    )
    assert job.what == "rule_sweep_wildcards_a_1of1"


@pytest.mark.parametrize(
    ("what", "rule", "wildcards", "expected"),
    [
        ("rule_sweep_wildcards_a_1of1", "sweep", {"model": "a", "shard": "1of1"}, True),
        ("rule_sweep_wildcards_a_1of2", "sweep", {"model": "a", "shard": "1of1"}, True),
        ("rule_sweep_wildcards_a_1of2", "sweep", {"model": "a", "shard": "2of2"}, False),
        ("rule_sweep_wildcards_a_1of1", "plan_again", {"model": "a", "shard": "1of1"}, True),
        ("rule_sweep_wildcards_b_a_1of1", "sweep", {"model": "a", "shard": "1of1"}, False),
        ("rule_sweep_wildcards_a.b_1of1", "sweep", {"model": "a+b", "shard": "1of1"}, False),
        ("rule_train_wildcards_a", "train", {"model": "a"}, True),
        ("rule_train_wildcards_b", "train", {"model": "a"}, False),
        ("rule_sweep_wildcards_a_1of1", "train", {"model": "a"}, False),
        ("", "sweep", {"model": "a", "shard": "1of1"}, False),
    ],
)
def test_a_job_of_the_same_rule_and_items_does_the_same(
    what: str, rule: str, wildcards: dict[str, str], expected: bool
) -> None:
    assert does_the_same(queued(what), rule, wildcards) is expected


def test_a_job_is_called_as_the_executor_plugin_does() -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    from types import SimpleNamespace

    from snakemake_executor_plugin_slurm.utils import get_job_wildcards

    given = {"model": "org/a", "shard": "1of2"}
    plugin = get_job_wildcards(SimpleNamespace(wildcards=list(given.values())))
    assert comment_of("sweep", given) == f"rule_sweep_wildcards_{plugin}"
