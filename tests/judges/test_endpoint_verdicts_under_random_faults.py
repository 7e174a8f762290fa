"""Random faults and kills, direct and in batches: one verdict or reason a turn, all is counted."""

import base64
import json
import random
import time
import urllib.parse
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from tests.endpoints.test_http_client_faults import KEY
from tests.endpoints.test_http_client_matrix import BODIES, DIRECT
from tests.support.faults.batch_mix import RandomBatches
from tests.support.faults.row import COUNTED, Fault
from tests.support.judge_once import start
from tests.support.judge_server import GENUINE, Asked, JudgeServer, completion, judge_server
from tests.support.judged_cell import MAX_TOKENS, PRICE, cell, judge, spent, verdicts_of
from userturn.endpoints import http_client, http_replies
from userturn.endpoints.usage import money
from userturn.errors import UserError
from userturn.judges import batch_api
from userturn.judges.judge import CellToJudge
from userturn.storage.journal import decode_line

pytestmark = pytest.mark.slow

TURNS = [f"Turn {i}?" for i in range(24)]
CELL = "cells/m/d/t0/none"
CONCURRENCY = 8
GOOD = completion(GENUINE | {"rationale": f"The key is {KEY}."})
QUOTED = (KEY, urllib.parse.quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode(),
          json.dumps(KEY)[1:-1].replace("/", "\\/"))  # fmt: skip

BOUNDED = [  # without those that alone tell of more than is possible: a kill may come before them
    name
    for name, row in sorted(DIRECT.items())
    if row.bill is None or (row.bill.n_written <= MAX_TOKENS and row.bill.n_read <= COUNTED.n_read)
]


class Answers:
    """Answers at random, and keeps what it charges for each request that is no batch's."""

    def __init__(self, seed: int) -> None:
        """Choose eight faults of replies, and of the Batch API."""
        self.rng = random.Random(seed)
        self.rows = [DIRECT[name] for name in self.rng.sample(BOUNDED, 8)]
        bodies = [BODIES[name] for name in self.rng.sample(sorted(BODIES), 8)]
        self.batches = RandomBatches(seed=seed, rows=bodies, key=KEY)
        self.bills: list[float] = []

    def __call__(self, asked: Asked) -> bytes | None:
        """Answer one request."""
        if not asked.path.endswith("/chat/completions"):
            return self.batches(asked)
        row: Fault | None = None if self.rng.random() < 0.6 else self.rng.choice(self.rows)
        self.bills.append((COUNTED if row is None or row.bill is None else row.bill).money)
        return GOOD if row is None else row.response


def kill_one(results: Path, server: JudgeServer, rng: random.Random, by_batch: bool) -> None:
    """Start a job and kill it once the server was asked so many times, or let it end before."""
    job = start(results, server.url, CELL, KEY, by_batch)
    n_until = len(server.asked) + rng.randrange(1, 12 if by_batch else 20)
    while len(server.asked) < n_until and job.is_alive():
        time.sleep(0.002)
    time.sleep(rng.random() * 0.03)
    job.kill()
    job.join()


def finished(results: Path, url: str, about: CellToJudge, api: RandomBatches) -> pl.DataFrame:
    """Run the same command until it ends well; in the end the Batch API refuses nothing more."""
    one = judge(results, url, key_variable="JUDGE_KEY", batch=True)
    for _ in range(3):
        with suppress(UserError):
            verdicts_of(one, about)
    api.is_well = True
    api.says.clear()
    api.gone.clear()
    with suppress(UserError):  # a batch that is out may still have been refused
        verdicts_of(one, about)
    return verdicts_of(one, about)


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(n, marks=pytest.mark.long) for n in range(10, 60))]
)
def test_mix_with_kills_decides_each_turn_once_and_counts_each_request(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(http_replies, "LONGEST_RETRY_AFTER", 0.01)  # some replies say: for ever
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.001)
    monkeypatch.setenv("JUDGE_KEY", KEY)
    answers, about = Answers(seed), cell(tmp_path, *TURNS)
    rng, by_batch = answers.rng, bool(seed % 2)
    with judge_server(answers, delay=0.005) as server:
        for _ in range(3):
            answers.batches.break_steps(rng)
            kill_one(tmp_path, server, rng, by_batch)
            by_batch = rng.random() < 0.5
        table = finished(tmp_path, server.url, about, answers.batches)
    assert table.height == len(TURNS)
    assert (table["label"].is_null() == table["unscored_reason"].is_not_null()).all()
    lines = [decode_line(line) for path in tmp_path.glob("journal/judges/j/d/*.jsonl")
             for line in path.read_bytes().splitlines(keepends=True)]  # fmt: skip
    decided = [line["key"] for line in lines if line and line["outcome"] == "ok"]
    assert len(decided) == len(set(decided)) == table["label"].count()
    bills = answers.bills + answers.batches.bills()
    assert spent(tmp_path).n_requests >= len(bills)
    assert sum(bills) - 1e-9 <= money(spent(tmp_path), PRICE) <= 10 * sum(bills)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert [form for form in QUOTED if form.encode() in written] == []
