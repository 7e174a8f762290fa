"""Every run of every job counts, whatever became of it, and what it kept says what was lost."""

import os
from datetime import datetime
from pathlib import Path

import pytest

from userturn.slurm.accounting import (
    ACCOUNTED,
    Run,
    jobs_of,
    read_runs,
    result_times,
    runs_of,
    useful_seconds,
)

JOBS = {"15": ("sweep", "big_1of2"), "16": ("train", "tuned")}
DAY = "2026-11-28T10:"
ROWS = [  # state, submitted, eligible, began, ended, seconds, resources
    ("15", "NODE_FAIL", "00:00", "00:00", "00:30", "02:10", "100", "gres/gpu:h100=2,gres/gpu=2"),
    ("15", "CANCELLED by 0", "04:00", "04:00", "04:05", "04:35", "30", "cpu=8,gres/gpu=2"),
    ("16", "PENDING", "00:00", "Unknown", "Unknown", "Unknown", "0", ""),
    ("17", "COMPLETED", "00:00", "00:00", "00:00", "00:05", "5", "gres/gpu=1"),
]
SAID = "".join("|".join(DAY + v if v[2:3] == ":" else v for v in row) + "\n" for row in ROWS)


def a_run(state: str, seconds: int = 100) -> Run:
    began = datetime.fromisoformat("2026-11-28T10:00:30")
    return Run("sweep", "big", "15", state, began, began, None, seconds, 2)


def test_each_run_of_a_job_counts_with_its_gpus_and_jobs_of_others_do_not() -> None:
    runs = read_runs(SAID, JOBS)
    assert [(one.name, one.job, one.state, one.waited) for one in runs] == [
        ("big", "15", "NODE_FAIL", 30),
        ("big", "15", "CANCELLED", 5),
        ("tuned", "16", "PENDING", None),
    ]
    assert [one.gpu_seconds for one in runs] == [200, 60, 0]


@pytest.mark.parametrize(
    ("state", "kept", "useful"),
    [
        ("TIMEOUT", [10.0, 90.0], 90),  # what it did in its last ten seconds is lost
        ("FAILED", [], 0),
        ("FAILED", [-5.0, 200.0], 0),  # by other runs
        ("COMPLETED", [10.0], 100),
        ("COMPLETED", [], 0),  # nothing was left to ask
    ],
)
def test_a_run_is_useful_until_it_last_kept_something(
    state: str, kept: list[float], useful: int
) -> None:
    one = a_run(state)
    assert one.began is not None
    begin = one.began.timestamp()
    assert useful_seconds(one, [begin + moment for moment in kept]) == useful


def test_jobs_are_known_by_the_names_of_their_logs(tmp_path: Path) -> None:
    for name in ("rule_sweep/big_1of2/15.log", "rule_train/tuned/16.log", "rule_train/tuned/x.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert jobs_of(tmp_path) == JOBS


def test_what_a_model_keeps_is_seen_in_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "results/journal/big/items/a.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    os.utime(path, (5, 7))
    assert result_times(tmp_path, a_run("FAILED")) == [7.0]


def test_sacct_is_asked_for_all_runs_without_a_comment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs/rule_sweep/big_1of2").mkdir(parents=True)
    (tmp_path / "logs/rule_sweep/big_1of2/15.log").touch()
    (tmp_path / "said").write_text(SAID)
    sacct = tmp_path / "sacct"
    sacct.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n/bin/cat {tmp_path}/said\n')
    sacct.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [one.seconds for one in runs_of(tmp_path / "logs")] == [100, 30]
    asked = (tmp_path / "asked").read_text()
    assert "-D" in asked and "-j 15" in asked and ",".join(ACCOUNTED) in asked
