"""One question goes first and alone; only an endpoint that answers it is asked the others."""

import json
from pathlib import Path

import pytest

from tests.support.judge_server import GENUINE, Asked, completion, http, judge_server
from tests.support.judged_cell import cell, judge, spent, verdicts_of
from userturn.errors import UserError

pytestmark = pytest.mark.slow

TURNS = [f"Turn {i}?" for i in range(30)]
BROKEN = {
    "a wrong key": (http(401, b"no such key"), 1, "status 401: no such key"),
    "a wrong model": (http(404, b"no such model"), 1, "status 404: no such model"),
    "another address": (
        http(301, b"", "Location: https://host/v1"),
        1,
        "status 301: to https://host/v1, which is not followed",
    ),
    "packed by nothing": (
        http(200, b"plain", "Content-Encoding: gzip"),
        3,
        "the connection broke: ClientPayloadError: 400, message: Can not decode",
    ),
    "a page": (http(200, b"<html>gateway</html>"), 2, "the reply has no content"),
    "words": (completion("I would say genuine."), 2, "the reply is not one JSON object"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_endpoint_that_gives_no_verdict_is_asked_one_question(name: str, tmp_path: Path) -> None:
    response, n_requests, why = BROKEN[name]
    stopped = pytest.raises(UserError, match=f"the first question .* no verdict.* {why}")
    with judge_server(lambda _: response) as server, stopped:
        verdicts_of(judge(tmp_path, server.url, is_tried=False), cell(tmp_path, *TURNS))
    assert len(server.asked) == n_requests == spent(tmp_path).n_requests
    lines = [json.loads(line) for path in tmp_path.rglob("j/d/*.jsonl") for line in path.open()]
    assert [line["outcome"] for line in lines][-1] in ("error", "unscored")


def test_trial_is_the_first_question_and_is_made_once(tmp_path: Path) -> None:
    at_once: list[int] = []

    def answer(asked: Asked) -> bytes:
        at_once.append(server.n_now)
        return completion(GENUINE)

    with judge_server(answer, delay=0.02) as server:
        new = judge(tmp_path, server.url, is_tried=False)
        verdicts_of(new, cell(tmp_path, *TURNS))
        assert len(server.asked) == 30 and server.n_most > 1
        broken = http(500, b"oops")
        server.answer = lambda _: broken
        # It has passed: what fails now is counted among the errors of the cell.
        table = verdicts_of(new, cell(tmp_path, "Another?", name="cells/m/d/t1/none"))
    assert table["unscored_reason"][0].startswith("judge error: status 500")


def test_refusal_of_the_first_question_says_nothing_about_the_endpoint(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        return completion(None, refusal="No.") if asked.number == 0 else completion(GENUINE)

    with judge_server(answer) as server:
        table = verdicts_of(judge(tmp_path, server.url, is_tried=False), cell(tmp_path, *TURNS))
    assert table["label"].null_count() == 1


def test_other_model_or_settings_are_tried_again(tmp_path: Path) -> None:
    with judge_server() as server:
        verdicts_of(judge(tmp_path, server.url, is_tried=False), cell(tmp_path, "Why?"))
        server.answer = lambda _: http(404, b"no such model")
        other = judge(tmp_path, server.url, is_tried=False, model="n")
        with pytest.raises(UserError, match="the first question"):
            verdicts_of(other, cell(tmp_path, "How?", "When?"))
