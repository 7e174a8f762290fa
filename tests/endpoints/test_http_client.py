"""What a request to an endpoint does on its way: proxies, waits, second attempts, other models."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.batch_server import BatchServer
from tests.support.judge_server import GENUINE, USAGE, Asked, completion, http, judge_server
from tests.support.judged_cell import cell, judge, spent, verdicts_of
from userturn.endpoints import http_client, http_replies
from userturn.errors import UserError
from userturn.judges import batch_api
from userturn.judges.pending_cells import running

pytestmark = pytest.mark.slow

NOWHERE = "http://127.0.0.1:9"  # a proxy at which nobody listens
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.01)
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("by_batch", [False, True])
def test_endpoint_on_this_machine_is_never_asked_through_a_proxy(
    by_batch: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", NOWHERE)
    api = BatchServer(first=json.dumps(GENUINE))

    def answer(asked: Asked) -> bytes | None:
        return api(asked) if by_batch else completion(GENUINE)

    with judge_server(answer) as server:
        table = verdicts_of(judge(tmp_path, server.url, batch=by_batch), cell(tmp_path, "Why?"))
    assert table["label"].to_list() == ["genuine_followup"]


def test_server_of_this_machine_is_waited_for_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", NOWHERE)
    with judge_server(lambda _: http(200, b"{}")) as server, running(["sleep", "60"], server.url):
        assert server.asked


@pytest.mark.parametrize("by_batch", [False, True])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_endpoint_elsewhere_is_asked_through_the_proxy_of_its_scheme(
    scheme: str, by_batch: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = http(403, b'{"error": {"message": "not through here"}}')
    with judge_server(lambda _: refusal) as proxy:
        monkeypatch.setenv(f"{scheme}_proxy", proxy.url.removesuffix("/v1"))
        one = judge(tmp_path, f"{scheme}://judge.invalid/v1", batch=by_batch, attempts=1)
        with pytest.raises(UserError) if by_batch else nullcontext():
            verdicts_of(one, cell(tmp_path, "Why?"))
        first = proxy.asked[0].headers.split(" ")
        at = "judge.invalid:443" if scheme == "https" else "http://judge.invalid/v1/"
        assert first[0] == ("CONNECT" if scheme == "https" else "POST") and first[1].startswith(at)
        monkeypatch.setenv("no_proxy", "judge.invalid")
        n_asked = len(proxy.asked)
        with pytest.raises(UserError) if by_batch else nullcontext():
            verdicts_of(one, cell(tmp_path, "How?"))
        assert len(proxy.asked) == n_asked


def test_proxy_that_lets_nothing_through_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with judge_server(lambda _: http(407, b"who are you")) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url.removesuffix("/v1"))
        one = judge(tmp_path, "https://judge.invalid/v1", attempts=2)
        table = verdicts_of(one, cell(tmp_path, "Why?"))
    assert "no connection: 407" in table["unscored_reason"][0]
    assert spent(tmp_path).n_requests == 0


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 529])
def test_status_that_passes_is_tried_again_until_it_has_passed(status: int, tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        return http(status, b"later") if asked.number < 2 else completion(GENUINE)

    with judge_server(answer) as server:
        table = verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "Why?"))
    assert table["label"].to_list() == ["genuine_followup"]
    total = spent(tmp_path)
    assert (total.n_requests, total.n_unmetered) == (3, 0)
    assert total.input_tokens == USAGE["prompt_tokens"]  # the refused attempts cost nothing


def test_long_wait_says_how_long_it_is_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(http_replies, "LONGEST_RETRY_AFTER", 0.05)
    monkeypatch.setattr(http_client, "LONG_WAIT", 0.04)

    def answer(asked: Asked) -> bytes:
        slow_down = http(429, b"slow down", "Retry-After: 86400")
        return completion(GENUINE) if asked.number else slow_down

    with judge_server(answer) as server:
        verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "Why?"))
    said = capsys.readouterr().out
    assert f"the endpoint '{server.url}': next attempt in 0 s: status 429: slow down" in said


def test_model_that_answers_in_anothers_place_is_noted_with_each_reply_and_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {0: "m", 1: "other", 2: "other", 3: "m-2026-03-17", 4: None}

    def answer(asked: Asked) -> bytes:
        choice = {"finish_reason": "stop", "message": {"content": json.dumps(GENUINE)}}
        body = {"model": names[asked.number], "choices": [choice], "usage": USAGE}
        return http(200, json.dumps(body).encode())

    with judge_server(answer) as server:
        turns = [f"Turn {i}?" for i in range(5)]
        table = verdicts_of(judge(tmp_path, server.url, concurrency=1), cell(tmp_path, *turns))
    assert table["label"].null_count() == 0
    lines = [json.loads(line) for path in tmp_path.rglob("j/d/*.jsonl") for line in path.open()]
    assert [line.get("model") for line in lines] == [None, "other", "other", "m-2026-03-17", None]
    said = capsys.readouterr().out
    assert said.count("was asked for 'm' and answers as 'other'") == 1 and "2026" not in said
