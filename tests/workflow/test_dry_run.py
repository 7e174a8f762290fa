"""A dry run counts many jobs and lists few; the demo says a line of each."""

import logging
from typing import Any

import pytest

from userturn.workflow.startup import HINT, JOBS_LISTED, FewJobs, ShortRun


def printed(n_jobs: int) -> list[str]:
    """Return what passes of a dry run: the table, its jobs, the table again, and an end."""
    table: dict[str, Any] = {"event": "run_info", "stats": {"sweep": n_jobs, "total": n_jobs}}
    said: list[tuple[str, dict[str, Any]]] = [
        ("table\n", table),
        *[("job", {"event": "job_info"})] * n_jobs,
        ("table\n", table),
        ("end", {}),
    ]
    shown = FewJobs()
    records = [logging.makeLogRecord({"msg": text, **more}) for text, more in said]
    return [str(record.msg) for record in records if shown.filter(record)]


@pytest.mark.parametrize("n_jobs", [1, JOBS_LISTED])
def test_few_jobs_are_listed_between_both_tables(n_jobs: int) -> None:
    assert printed(n_jobs) == ["table\n", *["job"] * n_jobs, "table\n", "end"]


def test_more_jobs_are_counted_once_and_the_reader_is_told_how_to_list_them() -> None:
    assert printed(JOBS_LISTED + 1) == [f"table\n{HINT}", "end"]


def test_short_run_says_jobs_progress_and_errors_each_in_its_place() -> None:
    job = {"rule_name": "judge", "wildcards": {"model": "tiny", "judge": "heuristic"}}
    said: list[tuple[str | None, dict[str, Any]]] = [
        ("Select jobs to execute...", {}),
        ("Execute 1 jobs...", {}),
        (None, {"event": "job_info", **job}),
        ("Finished jobid: 1", {"event": "job_finished"}),
        ("1 of 2 steps", {"event": "progress"}),
        ("a job failed", {"event": "job_error"}),
    ]
    shown = ShortRun()
    records = [logging.makeLogRecord({"msg": text, **more}) for text, more in said]
    passed = [
        (record.msg, record.__dict__.get("event")) for record in records if shown.filter(record)
    ]
    assert passed == [
        ("judge tiny heuristic", None),
        ("1 of 2 steps", "progress"),
        ("a job failed", "job_error"),
    ]
