"""Faults over many questions: the cap holds, a broken endpoint stops, and no key comes out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.faults.usages import USAGES
from tests.support.judge_server import GENUINE, Asked, completion, http, judge_server
from tests.support.judged_cell import cell, judge, verdicts_of
from userturn.endpoints import http_client
from userturn.errors import UserError

pytestmark = pytest.mark.slow

KEY = "sk-canary/7a1c90+xyz"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(http_client, "LONG_WAIT", 1e9)


def raw(content: str, status: int = 200) -> bytes:
    return http(status, content.encode())


@pytest.mark.parametrize("name", ["usage missing", "usage of strings", "usage total only"])
def test_cap_holds_where_the_endpoint_does_not_count(name: str, tmp_path: Path) -> None:
    cap = 0.05
    about = cell(tmp_path, *[f"Turn {i}?" for i in range(60)])
    stopped = pytest.raises(UserError, match="stopped before max_cost")
    with judge_server(lambda _: USAGES[name].response) as server, stopped:
        verdicts_of(judge(tmp_path, server.url, cap=cap), about)
    # The server's own bill: 900 read and 40 written tokens at 1 and 10 for a million.
    assert 0 < len(server.asked) * (900 + 40 * 10) / 1e6 <= cap


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
