"""Each fault of a batch has one end, its uploads, its requests, its tokens and its money.

The rows are in tests/support/faults/batches.py.
"""

import json
from pathlib import Path

import pytest

from tests.support.batch_server import BatchServer
from tests.support.faults.batches import BATCHES
from tests.support.judge_server import GENUINE, judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from userturn.endpoints.usage import money
from userturn.errors import UserError
from userturn.judges import batch_api

pytestmark = pytest.mark.slow

TURNS = ["Why?", "How?", "When?"]
METERED = 0.001044  # 388 + 512 / 2 + 40 * 10 millionths


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.01)


@pytest.mark.parametrize("name", BATCHES)
def test_fault_of_a_batch_has_its_end_its_requests_and_its_money(name: str, tmp_path: Path) -> None:
    row = BATCHES[name]
    api, about = BatchServer(first=json.dumps(GENUINE)), cell(tmp_path, *TURNS)
    row.breaks(api)
    with judge_server(api) as server:
        one = judge(tmp_path, server.url, batch=True)
        if row.stop is not None:
            with pytest.raises(UserError) as error:
                verdicts_of(one, about)
            assert str(error.value).startswith(row.stop)
            assert "run the same command again" in str(error.value)
            api.status, api.errors, api.dies_after_creating = "completed", [], False
            api.says.clear()
        table = verdicts_of(one, about)
    for reason, expected in zip(table["unscored_reason"], row.reasons, strict=True):
        assert (reason or "").startswith(expected or "") and (reason is None) == (expected is None)
    assert table["label"].drop_nulls().to_list() == ["genuine_followup"] * row.reasons.count(None)
    assert tuple(map(len, api.files.values())) == row.n_files
    total = spent(tmp_path)
    assert (total.n_requests, total.n_unmetered) == (row.n_requests, row.n_unmetered)
    # Every verdict was metered; what was lost counts a token a byte, and its limit of 100 tokens.
    n_metered = row.reasons.count(None)
    assert total.output_tokens == 40 * n_metered + 100 * row.n_unmetered
    lost = total.input_tokens - 900 * n_metered
    assert (lost >= 2_000 * row.n_unmetered) and (lost == 0) == (row.n_unmetered == 0)
    expected = METERED * n_metered + (lost + 100 * 10 * row.n_unmetered) / 1e6
    assert money(total, PRICE) == pytest.approx(expected)
