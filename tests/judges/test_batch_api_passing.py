"""What was paid for is not paid for again, whatever the API says of it once, five times, for ever.

The replies that the API charges for are as many as the questions, and its ledger is never below.
"""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.faults.passing import BELIEVED, PASSING, Passing
from tests.support.judge_server import GENUINE, judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from userturn.endpoints.usage import money
from userturn.errors import UserError
from userturn.judges import batch_api
from userturn.judges.batch_files import open_batches

pytestmark = pytest.mark.slow

METERED = 0.001044  # of one reply: 388 + 512 / 2 + 40 * 10 millionths
EVER = 10**6
SAMPLE = [
    ("look: 404", 1),
    ("look: 404", EVER),
    ("look: completed without a file", 5),
    ("read: 404", EVER),
    ("read: one line of three", 5),
    ("create: made, and hangs up", EVER),
]
ALL = [(name, n) for name in PASSING for n in (1, 5, EVER)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.001)


def check(name: str, n_times: int, results: Path) -> None:
    """Run the same command up to six times, then once with the API in order."""
    api = Passing(first=json.dumps(GENUINE), fault=name, n_times=n_times)
    about = cell(results, "Why?", "How?", "When?")
    is_believed = n_times == EVER and name in BELIEVED
    with judge_server(api) as server:
        one = judge(results, server.url, batch=True)
        for _ in range(6):
            with suppress(UserError):
                verdicts_of(one, about)
                break
            is_above = money(spent(results), PRICE) >= METERED * api.n_billed - 1e-9
            assert is_above or is_believed
        assert api.n_billed == 3 or is_believed
        api.n_times = 0
        table = verdicts_of(one, about)
    assert not open_batches(one.journal("d"))
    if not is_believed:
        assert table["genuine"].to_list() == [True] * 3 and api.n_billed == 3
        total = spent(results)
        assert (total.n_requests, total.n_unmetered) == (3, 0)
        assert money(total, PRICE) == pytest.approx(3 * METERED)


@pytest.mark.parametrize(("name", "n_times"), SAMPLE)
def test_absence_that_may_pass_costs_no_reply(name: str, n_times: int, tmp_path: Path) -> None:
    check(name, n_times, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(("name", "n_times"), [row for row in ALL if row not in SAMPLE])
def test_no_absence_that_may_pass_costs_a_reply(name: str, n_times: int, tmp_path: Path) -> None:
    check(name, n_times, tmp_path)
