"""GPU seconds of a study's jobs are all told, and split into what was kept and what was lost."""

import json
import os
from argparse import Namespace
from datetime import datetime
from pathlib import Path

import pytest

from userturn.cli.jobs import run
from userturn.cli.terminal import as_text

ROW = "15|{}|2026-11-28T10:00:00|x|2026-11-28T10:00:10|x|{}|gres/gpu=2\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a study whose job was preempted once, without a reply, and then completed with one."""
    log = tmp_path / "logs/slurm/rule_sweep/big_1of1/15.log"
    reply = tmp_path / "results/journal/big/items/a.jsonl"
    for path in (log, reply):
        path.parent.mkdir(parents=True)
        path.touch()
    moment = datetime.fromisoformat("2026-11-28T11:00:50").timestamp()
    os.utime(reply, (moment, moment))
    said = ROW.format("PREEMPTED", 100) + ROW.format("COMPLETED", 50).replace(
        "T10:00:1", "T11:00:1"
    )
    sacct = tmp_path / "sacct"
    sacct.write_text(f"#!/bin/sh\n/bin/cat <<X\n{said}X\n")
    sacct.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_useful_and_lost_seconds_are_together_those_of_sacct(folder: Path) -> None:
    said = run(Namespace(results="results", logs=Path("logs/slurm")))
    (of_model, of_all) = said.numbers["totals"]
    # Two GPUs for 100 s without a reply, and for 50 s with one.
    assert of_model == {
        **{"name": "big", "runs": 2, "gpu_s": 300, "gpu_hours": 300 / 3600},
        **{"useful_gpu_s": 100, "lost_gpu_s": 200},
    }
    assert of_all == of_model | {"name": "all"}
    assert json.dumps(said.numbers)
    assert "PREEMPTED" in as_text(said.parts, 100)


def test_a_study_without_jobs_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = run(Namespace(results="results", logs=Path("logs/slurm")))
    assert as_text(said.parts, 100) == "no job of SLURM has logged in 'logs/slurm' yet"
