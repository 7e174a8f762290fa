"""The Batch API against a small fake of it: half the price, and nothing submitted twice."""

import json
from pathlib import Path

import pytest

from tests.support.batch_server import BatchServer
from tests.support.judge_server import GENUINE, judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from userturn.endpoints.usage import money
from userturn.errors import UserError
from userturn.judges import batch_api as batching

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "FIRST_POLL", 0.01)


def test_batch_brings_verdicts_and_repairs_once(tmp_path: Path) -> None:
    api = BatchServer()
    with judge_server(api) as server:
        about = cell(tmp_path, "Why?", "How?", "When?")
        table = verdicts_of(judge(tmp_path, server.url, batch=True), about)
        assert table["genuine"].to_list() == [True] * 3
        assert [len(lines) for lines in api.files.values()] == [3, 3]
        assert spent(tmp_path).n_requests == 6
        n_asked = len(server.asked)
        verdicts_of(judge(tmp_path, server.url, batch=True), about)
        assert len(server.asked) == n_asked


def test_batch_that_lost_its_job_is_found_by_its_file(tmp_path: Path) -> None:
    api = BatchServer()
    api.first, api.dies_after_creating = json.dumps(GENUINE), True
    with judge_server(api) as server:
        about = cell(tmp_path, "Why?", "How?")
        with pytest.raises(UserError, match="the Batch API cannot be used"):
            verdicts_of(judge(tmp_path, server.url, batch=True), about)
        api.dies_after_creating = False
        table = verdicts_of(judge(tmp_path, server.url, batch=True), about)
    assert table["genuine"].to_list() == [True] * 2
    assert (len(api.files), len(api.batches), spent(tmp_path).n_requests) == (1, 1, 2)


def test_batch_stays_below_the_cap(tmp_path: Path) -> None:
    api = BatchServer()
    api.first = json.dumps(GENUINE)
    cap = 0.02
    with judge_server(api) as server:
        about = cell(tmp_path, *[f"Turn {i}?" for i in range(40)])
        with pytest.raises(UserError, match="stopped before max_cost"):
            verdicts_of(judge(tmp_path, server.url, cap=cap, batch=True), about)
    assert 0 < money(spent(tmp_path), PRICE) <= cap
