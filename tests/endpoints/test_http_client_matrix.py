"""Each fault of an endpoint has one end, its requests, its tokens and its money.

The rows are in tests/support/faults: what is said to every request, and how the question must end.
Each is asked directly. In batches and as a run's first question, whose replies are read by the same
function, there is one row of each end and bill.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from tests.support.batch_server import BatchServer
from tests.support.faults.connections import CONNECTIONS
from tests.support.faults.contents import CONTENTS
from tests.support.faults.providers import PROVIDERS
from tests.support.faults.row import Fault
from tests.support.faults.statuses import STATUSES
from tests.support.faults.structures import STRUCTURES
from tests.support.faults.usages import USAGES
from tests.support.faults.wrappings import WRAPPINGS
from tests.support.judge_server import judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from userturn.endpoints import http_client, http_replies
from userturn.endpoints.usage import money
from userturn.errors import UserError
from userturn.judges import batch_api

pytestmark = pytest.mark.slow

IN_BODIES = {name: row for name, row in PROVIDERS.items() if not isinstance(row.says, bytes)}
BODIES = USAGES | CONTENTS | STRUCTURES | WRAPPINGS | IN_BODIES
DIRECT = BODIES | STATUSES | CONNECTIONS | PROVIDERS
STOPPING = {name: row for name, row in DIRECT.items() if row.end != "genuine_followup"}
LIMIT = 100  # tokens of a reply, by the entry that judged_cell writes
N_BYTES = re.compile(r"(?i)content-length: *(\d+)")


def first_of_each_end(rows: Mapping[str, Fault]) -> list[str]:
    """Return the names of rows without those that end and cost as one before."""
    backwards = reversed(rows.items())
    ends = {(row.end, row.n_requests, row.n_in_batches, row.bill): n for n, row in backwards}
    return list(ends.values())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(http_client, "LONG_WAIT", 1e9)
    monkeypatch.setattr(http_replies, "LONGEST_RETRY_AFTER", 0.02)
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.01)


def check_end(table: pl.DataFrame, row: Fault) -> None:
    """Hold the one verdict of a table against a row: a label, or one reason why there is none."""
    label, reason = table["label"][0], table["unscored_reason"][0]
    assert (label is None) != (reason is None)
    assert (
        label == row.end if label is not None else reason.replace("batch: ", "").startswith(row.end)
    )


def check_bill(results: Path, row: Fault, sent: list[int], received: list[int]) -> None:
    """Hold the ledger against a row, and against the bytes sent and received.

    Args:
        results: of the study.
        row: of the matrix.
        sent: bytes of each request.
        received: bytes of each reply.
    """
    total = spent(results)
    assert total.n_requests == len(sent)
    if row.bill is None:
        n_read, n_written = sum(sent), sum(max(LIMIT, n) for n in received)
        assert (total.n_unmetered, total.input_tokens) == (len(sent), n_read)
        assert LIMIT * len(sent) <= total.output_tokens <= min(n_written, 4 * LIMIT * len(sent))
        true = len(sent) * 0.0013  # what 900 and 40 tokens cost
        assert true <= money(total, PRICE) <= 10 * true
    else:
        n = len(sent)
        assert total.n_unmetered == 0
        counts = (total.input_tokens, total.cached_tokens, total.output_tokens)
        assert counts == (n * row.bill.n_read, n * row.bill.n_cached, n * row.bill.n_written)
        assert money(total, PRICE) == pytest.approx(n * row.bill.money)


@pytest.mark.parametrize("name", DIRECT)
def test_fault_has_its_end_its_requests_its_tokens_and_its_money(name: str, tmp_path: Path) -> None:
    row = DIRECT[name]
    with judge_server(lambda _: row.response) as server:
        table = verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "Why?"))
    check_end(table, row)
    sent = [int(N_BYTES.findall(asked.headers)[0]) for asked in server.asked]
    assert len(sent) == row.n_requests
    received = len((row.response or b"").rpartition(b"\r\n\r\n")[2])
    # Of a body that is larger than 1 MB, or compressed, more is read than came or less.
    check_bill(tmp_path, row, sent, [max(received, 2 * http_client.LARGEST_BODY)] * len(sent))


@pytest.mark.parametrize("name", first_of_each_end(BODIES))
def test_fault_in_a_batch_ends_as_it_does_elsewhere(name: str, tmp_path: Path) -> None:
    row = BODIES[name]
    api = BatchServer(body=row.says)
    with judge_server(api) as server:
        table = verdicts_of(judge(tmp_path, server.url, batch=True), cell(tmp_path, "Why?"))
    check_end(table, row)
    sent = [len(line) for lines in api.files.values() for line in lines]
    assert len(sent) == row.n_in_batches
    check_bill(tmp_path, row, sent, [len(json.dumps(row.says))] * len(sent))


@pytest.mark.parametrize("name", first_of_each_end(STOPPING))
def test_first_question_stops_the_run_with_the_reason_or_is_settled(
    name: str, tmp_path: Path
) -> None:
    row = STOPPING[name]
    with judge_server(lambda _: row.response) as server:
        new = judge(tmp_path, server.url, is_tried=False, attempts=1)
        settles = row.end == "generic" or (row.n_requests == 1 and "judge error" not in row.end)
        if settles:
            check_end(verdicts_of(new, cell(tmp_path, "Why?")), row)
            return
        with pytest.raises(UserError) as error:
            verdicts_of(new, cell(tmp_path, *[f"Turn {i}?" for i in range(5)]))
    assert row.end.removeprefix("judge error: ") in str(error.value)
    assert "run the same command again" in str(error.value)
    assert len(server.asked) == (2 if row.n_requests == 2 else 1)
