"""A random mix of faults and a kill: one verdict or reason a turn, and no request uncounted."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.judges.test_http_client_faults import KEY
from tests.judges.test_http_client_matrix import DIRECT
from tests.support.judge_server import GENUINE, Asked, completion, judge_server
from tests.support.judged_cell import cell, judge, spent, verdicts_of
from tests.support.snakemake_runs import ROOT
from userturn.judges import http_client

pytestmark = pytest.mark.slow

TURNS = [f"Turn {i}?" for i in range(24)]
CELL = "cells/m/d/t0/none"
MIXED = sorted(DIRECT)


@pytest.mark.parametrize("seed", range(20))
def test_mix_with_a_kill_decides_each_turn_once_and_counts_each_request(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    rng = random.Random(seed)
    mixed = rng.sample(MIXED, 8)

    def answer(asked: Asked) -> bytes | None:
        if rng.random() < 0.6:
            return completion(GENUINE | {"rationale": f"The key is {KEY}."})
        return DIRECT[rng.choice(mixed)].response

    monkeypatch.setenv("JUDGE_KEY", KEY)
    about = cell(tmp_path, *TURNS)
    with judge_server(answer, delay=0.02) as server:
        command = [
            sys.executable,
            "-m",
            "tests.support.judge_once",
            tmp_path,
            server.url,
            "0",
            CELL,
        ]
        job = subprocess.Popen(command, cwd=ROOT, env=os.environ, stderr=subprocess.DEVNULL)
        n_before = rng.randrange(1, 20)
        while len(server.asked) < n_before and job.poll() is None:
            time.sleep(0.005)
        job.kill()
        job.wait()
        one = judge(tmp_path, server.url, key_variable="JUDGE_KEY")
        table = verdicts_of(one, about)
        n_asked = len(server.asked)
    assert table.height == len(TURNS)
    assert (table["label"].is_null() == table["unscored_reason"].is_not_null()).all()
    assert n_asked <= spent(tmp_path).n_requests <= n_asked + 8  # noted before the kill, unsent
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in written
