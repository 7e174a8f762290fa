"""The Batch API against a small fake of it: half the price, and nothing submitted twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.support.batch_server import BatchServer
from tests.support.faults.batches import BATCHES
from tests.support.judge_server import GENUINE, judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from userturn.cli.rejudge import void_unscored
from userturn.endpoints.usage import money
from userturn.errors import UserError
from userturn.judges import batch_api
from userturn.storage.journal import Writer

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.001)


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


TURNS = ["Why?", "How?", "When?"]
METERED = 0.001044  # 388 + 512 / 2 + 40 * 10 millionths


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
            api.gone.clear()
            api.outputs = lambda lines: (lines, None)
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


GOOD = json.dumps(GENUINE)


def n_lines(api: BatchServer) -> list[int]:
    return [len(lines) for lines in api.files.values()]


@pytest.mark.parametrize("n_before", [0, 1, 2])
def test_job_that_is_killed_while_it_collects_repairs_and_counts_each_reply_once(
    n_before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, about, n_read = BatchServer(first="?"), cell(tmp_path, *TURNS), 0
    real = batch_api.record_of_reply

    def dies(*arguments: Any) -> Any:
        nonlocal n_read
        if n_read == n_before:
            raise KeyboardInterrupt
        n_read += 1
        return real(*arguments)

    with judge_server(api) as server:
        monkeypatch.setattr(batch_api, "record_of_reply", dies)
        with pytest.raises(KeyboardInterrupt):
            verdicts_of(judge(tmp_path, server.url, batch=True), about)
        monkeypatch.setattr(batch_api, "record_of_reply", real)
        table = verdicts_of(judge(tmp_path, server.url, batch=True), about)
    assert table["genuine"].to_list() == [True] * 3
    assert n_lines(api) == [3, 3]
    assert spent(tmp_path).n_requests == 6 and spent(tmp_path).input_tokens == 6 * 900


def test_reply_that_cannot_be_read_twice_is_unscored_with_both_reasons(tmp_path: Path) -> None:
    api, about = BatchServer(first="?", repaired="!"), cell(tmp_path, *TURNS)
    with judge_server(api) as server:
        table = verdicts_of(judge(tmp_path, server.url, batch=True), about)
        why = "the reply is not one JSON object"
        assert set(table["unscored_reason"]) == {f"{why}; asked again: {why}"}
        folder = tmp_path / "journal/judges/j/d"
        assert void_unscored(folder) == 3
        api.repaired = GOOD
        table = verdicts_of(judge(tmp_path, server.url, batch=True), about)
    assert table["genuine"].to_list() == [True] * 3
    assert n_lines(api) == [3, 3, 3, 3]


def test_half_a_character_in_a_batch_is_replaced(tmp_path: Path) -> None:
    reply = '{"rationale": "\\ud800", "label": "generic", "genuine": false}'
    api = BatchServer(first=reply)
    with judge_server(api) as server:
        table = verdicts_of(judge(tmp_path, server.url, batch=True), cell(tmp_path, "Why?"))
    assert table["rationale"].to_list() == ["\ufffd"]


def test_batch_that_the_api_refuses_says_why_and_goes_up_once_a_run(tmp_path: Path) -> None:
    api, about = BatchServer(first=GOOD), cell(tmp_path, *TURNS)
    api.status, api.errors = "failed", ["line 1: the model 'm' does not exist"]
    with judge_server(api) as server:
        for n_runs in (1, 2):
            with pytest.raises(
                UserError,
                match=r"refused a batch: batch of file-\d: line 1: the model 'm' does not exist",
            ):
                verdicts_of(judge(tmp_path, server.url, batch=True), about)
            assert len(api.files) == n_runs
        api.status = "completed"
        table = verdicts_of(judge(tmp_path, server.url, batch=True), about)
    assert table["genuine"].to_list() == [True] * 3
    assert spent(tmp_path).n_requests == 3


def test_error_while_looking_is_tried_again(tmp_path: Path) -> None:
    api, about = BatchServer(first=GOOD), cell(tmp_path, *TURNS)
    api.n_looks_that_fail = 2
    with judge_server(api) as server:
        table = verdicts_of(judge(tmp_path, server.url, batch=True), about)
    assert table["genuine"].to_list() == [True] * 3 and n_lines(api) == [3]


@pytest.mark.parametrize("usage", [None, {"total_tokens": 940}, {"prompt_tokens": "900"}])
def test_replies_without_a_count_cost_as_much_as_they_can(tmp_path: Path, usage: Any) -> None:
    api, about = BatchServer(first=GOOD, usage=usage), cell(tmp_path, *TURNS)
    with judge_server(api) as server:
        verdicts_of(judge(tmp_path, server.url, batch=True), about)
    total = spent(tmp_path)
    assert (total.n_requests, total.n_unmetered) == (3, 3)
    assert total.input_tokens >= 3 * 900 and total.output_tokens >= 3 * 100


def test_conversation_that_is_too_long_for_the_judge_is_unscored(tmp_path: Path) -> None:
    api, about = BatchServer(first=GOOD), cell(tmp_path, *TURNS)
    api.refusal = {"error": {"code": "context_length_exceeded"}}
    with judge_server(api) as server:
        table = verdicts_of(judge(tmp_path, server.url, batch=True), about)
    assert set(table["unscored_reason"]) == {"the conversation is longer than the judge's context"}
    assert n_lines(api) == [3]


def test_key_in_a_refusal_of_a_batch_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-canary-7a1c90")
    api, about = BatchServer(first=GOOD), cell(tmp_path, *TURNS)
    api.status, api.errors = "failed", ["x" * 290 + "sk-canary-7a1c90"]
    with judge_server(api) as server, pytest.raises(UserError) as error:
        verdicts_of(judge(tmp_path, server.url, batch=True, key_variable="JUDGE_KEY"), about)
    assert "sk-ca" not in str(error.value)


# Of two rounds, first replies and repairs: a request to upload, create, look, look and read each,
# and 3 notes and 3 records that are written; the first thing is a look for batches left open.
N_STEPS = 2 * (5 + 3 + 3)


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
    total = spent(tmp_path)
    assert billed == total.n_requests == 6
    assert total.n_unmetered <= 1  # a reply that was journalled, and not yet counted at its size
    lines = [json.loads(line) for path in tmp_path.glob("journal/judges/j/d/*.jsonl")
             for line in path.open()]  # fmt: skip
    assert sorted(line["outcome"] for line in lines) == ["ok"] * 3 + ["unclear"] * 3
