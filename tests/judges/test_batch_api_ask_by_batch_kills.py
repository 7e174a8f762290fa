"""A job that is killed between any two steps of a batch goes on where it was."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.support.batch_server import BatchServer
from tests.support.judge_server import judge_server
from tests.support.judged_cell import cell, judge, spent, verdicts_of
from userturn.judges import batch_api
from userturn.storage.journal import Writer

pytestmark = pytest.mark.slow

TURNS = ["Why?", "How?", "When?"]
# Of two rounds, first replies and repairs: a request to upload, list, create, look, look and read
# each, and 3 notes and 3 records that are written; the first thing is a look for batches left open.
N_STEPS = 2 * (6 + 3 + 3)


class KilledError(BaseException):
    """Ends a job at once."""


def dying(step: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    """Return a step after which the job dies, once as many as are left were made."""

    def counted(*arguments: Any, **named: Any) -> Any:
        result = step(*arguments, **named)
        left[0] -= 1
        if left[0] == 0:
            raise KilledError
        return result

    return counted


@pytest.mark.parametrize("n_steps", range(1, N_STEPS + 1))
def test_job_killed_after_any_step_decides_all_and_counts_all(
    n_steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.01)
    left, api, about = [n_steps], BatchServer(first="?"), cell(tmp_path, *TURNS)
    with judge_server(api) as server, monkeypatch.context() as patched:
        patched.setattr(openai.OpenAI, "request", dying(openai.OpenAI.request, left))
        patched.setattr(Writer, "append", dying(Writer.append, left))
        with pytest.raises(KilledError):
            verdicts_of(judge(tmp_path, server.url, batch=True), about)
        patched.undo()
        table = verdicts_of(judge(tmp_path, server.url, batch=True), about)
        before = len(server.asked)
        verdicts_of(judge(tmp_path, server.url, batch=True), about)
        assert len(server.asked) == before  # nothing is open any more
    assert table["genuine"].to_list() == [True] * 3
    # A file that was uploaded and not noted is uploaded again; no batch is made twice.
    n_batches = len(api.batches)
    assert n_batches == 2 and 2 <= len(api.files) <= 3
    billed = sum(len(api.files[batch["file"]]) for batch in api.batches.values())
    # A kill between the count of a reply and its record counts that one twice.
    assert billed == 6 <= spent(tmp_path).n_requests <= 7
    lines = [json.loads(line) for path in tmp_path.glob("journal/judges/j/d/*.jsonl")
             for line in path.open()]  # fmt: skip
    assert sorted(line["outcome"] for line in lines) == ["ok"] * 3 + ["unclear"] * 3
