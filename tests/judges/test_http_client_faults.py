"""Each fault of an endpoint has one end, a number of requests, and tokens that are not too few."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.judge_server import (
    BREAKS_OFF,
    GENUINE,
    USAGE,
    Asked,
    completion,
    http,
    judge_server,
)
from tests.support.judged_cell import cell, judge, spent, verdicts_of
from userturn.errors import UserError
from userturn.judges import http_client

pytestmark = pytest.mark.slow

KEY = "sk-canary/7a1c90+xyz"
SCORED, UNSCORED, ERROR = "scored", "unscored", "error"
MAX_OUTPUT = 100  # of the entry that judged_cell writes


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(http_client, "LONG_WAIT", 1e9)


def told(usage: Any, content: Any = GENUINE) -> bytes:
    """Return a good reply with another usage; `...` leaves the key out."""
    text = json.dumps(content)
    body = {"choices": [{"finish_reason": "stop", "message": {"content": text}}], "usage": usage}
    if usage is ...:
        del body["usage"]
    return http(200, json.dumps(body).encode())


def raw(content: str, status: int = 200) -> bytes:
    return http(status, content.encode())


@dataclass(frozen=True)
class Fault:
    """What an endpoint says to every request, and how a question then ends.

    Attributes:
        says: the response.
        end: of the question.
        n_requests: that the question takes; 3 where attempts are used up, 2 with a repair.
        n_unmetered: of them.
        reason: begins why there is no verdict.
    """

    says: bytes | None
    end: str
    n_requests: int
    n_unmetered: int
    reason: str = ""


def odd(usage: Any) -> Fault:
    return Fault(told(usage), SCORED, 1, 1)


HUGE = {"prompt_tokens": 10**30, "completion_tokens": 5}
TWO = {"prompt_tokens": 900, "completion_tokens": 40}
OVERLOADED = '{"error": {"message": "overloaded", "code": 502}}'
LONG = '{"error": {"code": "context_length_exceeded", "message": "too long"}}'
FAULTS = {
    "usage missing": odd(...),
    "usage null": odd(None),
    "usage empty": odd({}),
    "usage a list": odd([900, 40]),
    "usage a string": odd("900"),
    "usage of strings": odd({"prompt_tokens": "900", "completion_tokens": "40"}),
    "usage of floats": odd({"prompt_tokens": 900.0, "completion_tokens": 40.0}),
    "usage of nulls": odd({"prompt_tokens": None, "completion_tokens": None}),
    "usage of zeros": odd({"prompt_tokens": 0, "completion_tokens": 0}),
    "usage negative": odd({"prompt_tokens": -900, "completion_tokens": 40}),
    "usage of booleans": odd({"prompt_tokens": True, "completion_tokens": True}),
    "usage total only": odd({"total_tokens": 940}),
    "usage other names": odd({"input_tokens": 900, "output_tokens": 40}),
    "usage input only": odd({"prompt_tokens": 900}),
    "usage output only": odd({"completion_tokens": 40}),
    "usage 10**30": odd(HUGE),
    "usage 10**400": odd({"prompt_tokens": 10**400, "completion_tokens": 5}),
    "usage 10**12 written": odd({"prompt_tokens": 900, "completion_tokens": 10**12}),
    "usage details a list": Fault(told(TWO | {"prompt_tokens_details": [1]}), SCORED, 1, 0),
    "usage cached a string": Fault(
        told(TWO | {"prompt_tokens_details": {"cached_tokens": "512"}}), SCORED, 1, 0
    ),
    "status 201": Fault(told(TWO).replace(b"200 X", b"201 X"), SCORED, 1, 0),
    "status 206": Fault(told(TWO).replace(b"200 X", b"206 X"), SCORED, 1, 0),
    "HTML page": Fault(raw("<html>hello</html>"), UNSCORED, 2, 2, "the reply has no content"),
    "empty body": Fault(raw(""), UNSCORED, 2, 2, "the reply has no content"),
    "JSON null": Fault(raw("null"), UNSCORED, 2, 2, "the reply has no content"),
    "choices null": Fault(raw('{"choices": null}'), UNSCORED, 2, 2, "the reply has no content"),
    "choices empty": Fault(raw('{"choices": []}'), UNSCORED, 2, 2, "the reply has no content"),
    "error in a 200": Fault(raw(OVERLOADED), ERROR, 3, 3, "judge error: an error in a reply"),
    "error and no choices": Fault(
        raw('{"error": "x", "choices": null}'), ERROR, 3, 3, "judge error: an error in a reply"
    ),
    "content null": Fault(completion(None), UNSCORED, 2, 0, "the reply has no content"),
    "content empty": Fault(completion(""), UNSCORED, 2, 0, "the reply is not one JSON object"),
    "content a list": Fault(completion([GENUINE]), UNSCORED, 2, 0, "the reply has no content"),
    "cut off": Fault(completion("x", "length"), UNSCORED, 2, 0, "the reply was cut off"),
    "filtered": Fault(completion("x", "content_filter"), UNSCORED, 1, 0, "the judge refused"),
    "refused": Fault(completion(None, refusal="no"), UNSCORED, 1, 0, "the judge refused"),
    "nested deep": Fault(completion("[" * 99_000), UNSCORED, 2, 0, "the reply is not one JSON"),
    "half a character": Fault(
        completion('{"rationale": "\\ud800", "label": "generic", "genuine": false}'), SCORED, 1, 0
    ),
    "body not UTF-8": Fault(http(200, b"\xff\xfe"), UNSCORED, 2, 2, "the reply has no content"),
    "context too long, 400": Fault(raw(LONG, 400), UNSCORED, 1, 0, "the conversation is longer"),
    "prompt too long, 413": Fault(
        raw("prompt is too long: 9 tokens", 413), UNSCORED, 1, 0, "the conversation is longer"
    ),
    **{
        f"status {status}": Fault(raw("no", status), ERROR, 1, 0, f"judge error: status {status}")
        for status in (301, 302, 400, 401, 402, 403, 404, 405, 422)
    },
    **{
        f"status {status}": Fault(raw("no", status), ERROR, 3, 0, f"judge error: status {status}")
        for status in (408, 409, 425, 429, 500, 502, 503, 504, 529)
    },
    "no money": Fault(
        raw('{"code": "insufficient_quota"}', 429), ERROR, 1, 0, "judge error: status"
    ),
    "hangs up": Fault(None, ERROR, 3, 3, "judge error: the connection broke"),
    "half a body": Fault(
        BREAKS_OFF + b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
        ERROR,
        3,
        3,
        "judge error: the connection broke",
    ),
    "no HTTP": Fault(BREAKS_OFF + b"hi\r\n\r\n", ERROR, 3, 3, "judge error: the connection broke"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_has_its_end_its_requests_and_its_tokens(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    with judge_server(lambda _: fault.says) as server:
        table = verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "Why?"))
    reason = table["unscored_reason"][0]
    assert (reason is None) == (fault.end == SCORED)
    assert fault.end != ERROR or reason.startswith("judge error: ")
    assert (reason or "").startswith(fault.reason)
    assert len(server.asked) == fault.n_requests
    total = spent(tmp_path)
    assert (total.n_requests, total.n_unmetered) == (fault.n_requests, fault.n_unmetered)
    # A reply without a count stands in with a token a byte that was sent, and the whole limit.
    assert total.output_tokens >= fault.n_unmetered * MAX_OUTPUT
    assert total.input_tokens >= fault.n_unmetered * 2_000
    assert total.input_tokens < 100_000  # and no absurd number is taken for a count


@pytest.mark.parametrize("name", ["usage missing", "usage of strings", "usage total only"])
def test_cap_holds_where_the_endpoint_does_not_count(name: str, tmp_path: Path) -> None:
    cap = 0.05
    about = cell(tmp_path, *[f"Turn {i}?" for i in range(60)])
    stopped = pytest.raises(UserError, match="stopped before max_cost")
    with judge_server(lambda _: FAULTS[name].says) as server, stopped:
        verdicts_of(judge(tmp_path, server.url, cap=cap), about)
    # The server's own bill: 900 read and 40 written tokens at 1 and 10 for a million.
    assert 0 < len(server.asked) * (900 + 40 * 10) / 1e6 <= cap


def test_reasoning_that_only_the_total_holds_is_counted_as_written(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 1_500}
    with judge_server(lambda _: told(usage)) as server:
        verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "Why?"))
    assert spent(tmp_path).output_tokens == 600


GARBAGE: list[Callable[[Asked], bytes]] = [
    lambda _: raw("<html>gateway</html>"),
    lambda _: completion("I will not."),
    lambda _: completion("x", "length"),
]


@pytest.mark.parametrize("answer", GARBAGE)
def test_twenty_unusable_replies_in_a_row_stop_with_the_first_reason(
    answer: Callable[[Asked], bytes], tmp_path: Path
) -> None:
    turns = [f"Turn {i}?" for i in range(200)]
    stopped = pytest.raises(UserError, match=r"20 questions in a row .* the first: the reply ")
    with judge_server(answer) as server, stopped:
        verdicts_of(judge(tmp_path, server.url, concurrency=1), cell(tmp_path, *turns))
    assert len(server.asked) == 2 * 20


def test_cell_with_too_few_verdicts_fails_and_names_the_first_reason(tmp_path: Path) -> None:
    turns = [f"Turn {i}?" for i in range(8)]
    with judge_server(lambda _: completion("no")) as server:
        unsure = judge(tmp_path, server.url, max_unscored_share=0.5)
        with pytest.raises(UserError, match=r"8 of 8 questions .* the first: the reply is not one"):
            verdicts_of(unsure, cell(tmp_path, *turns))
        assert not list(tmp_path.rglob("verdicts.parquet"))
        allowed = judge(tmp_path, server.url, max_unscored_share=1.0)
        assert verdicts_of(allowed, cell(tmp_path, *turns))["label"].null_count() == 8


ECHOES: dict[str, Callable[[str], bytes]] = {
    "in an error": lambda key: raw(f"no {key}", 401),
    "escaped in an error": lambda key: raw("".join(f"\\u{ord(c):04x}" for c in key), 401),
    "at the cut of an error": lambda key: raw("x" * 290 + key, 401),
    "at 4,000 bytes of an error": lambda key: raw("x" * 3_990 + key, 401),
    "in an error of 2 MB": lambda key: raw("x" * 3_990 + key + "x" * 2_000_000, 500),
    "in a page": lambda key: raw(f"<html>{'x' * 3_985}{key}</html>"),
    "in a page of 2 MB": lambda key: raw("x" * 3_990 + key + "x" * 2_000_000),
    "in an error in a 200": lambda key: raw(json.dumps({"error": {"message": key}})),
    "in a rationale": lambda key: completion(GENUINE | {"rationale": f"with {key}"}),
    "in a refusal": lambda key: completion(None, refusal=key),
    "in a reply that is cut off": lambda key: completion(key, "length"),
}


@pytest.mark.parametrize("where", ECHOES)
def test_key_that_comes_back_is_written_nowhere(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    with judge_server(lambda _: ECHOES[where](KEY)) as server:
        verdicts_of(judge(tmp_path, server.url, key_variable="JUDGE_KEY"), cell(tmp_path, "Why?"))
        assert f"Bearer {KEY}" in server.asked[0].headers
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    heard = "".join(capfd.readouterr())
    escaped = "".join(f"\\u{ord(c):04x}" for c in KEY[:8])
    for part in (KEY[:8], KEY[-8:], escaped, escaped.replace("\\", "\\\\")):
        assert part.encode() not in written and part not in heard


def test_label_is_never_taken_for_a_part_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "genuine_")
    with judge_server() as server:
        one = judge(tmp_path, server.url, key_variable="JUDGE_KEY")
        table = verdicts_of(one, cell(tmp_path, "Why?"))
    assert table["label"].to_list() == ["genuine_followup"]


def test_usage_of_the_server_is_told_exactly_where_it_counts(tmp_path: Path) -> None:
    with judge_server(lambda _: told(USAGE)) as server:
        verdicts_of(judge(tmp_path, server.url), cell(tmp_path, "Why?"))
    total = spent(tmp_path)
    assert (total.input_tokens, total.output_tokens, total.n_unmetered) == (900, 40, 0)
