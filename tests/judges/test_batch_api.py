"""The Batch API against a small fake of it: half the price, and nothing submitted twice."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.judge_server import GENUINE, USAGE, Asked, http, judge_server
from tests.support.judged_cell import PRICE, cell, judge, spent, verdicts_of
from userturn.errors import UserError
from userturn.judges import batch_api as batching
from userturn.judges.usage import money

pytestmark = pytest.mark.slow


class FakeApi:
    """Files and batches in memory; a batch is done at the second look."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.n_looks = 0
        self.first: str = "?"
        self.dies_after_creating = False

    def batch(self, name: str) -> dict[str, Any]:
        state = self.batches[name]
        done = state["looks"] > 1
        return {
            "id": name,
            "object": "batch",
            "endpoint": batching.PATH,
            "completion_window": "24h",
            "created_at": 0,
            "input_file_id": state["file"],
            "status": "completed" if done else "in_progress",
            "output_file_id": f"out-{name}" if done else None,
        }

    def reply(self, line: bytes) -> bytes:
        request = json.loads(line)
        is_repair = "An earlier reply" in request["body"]["messages"][-1]["content"]
        content = json.dumps(GENUINE) if is_repair else self.first
        choice = {"finish_reason": "stop", "message": {"content": content}}
        body = {"choices": [choice], "usage": USAGE}
        response = {"status_code": 200, "body": body}
        return json.dumps({"custom_id": request["custom_id"], "response": response}).encode()

    def __call__(self, asked: Asked) -> bytes | None:
        post = asked.headers.startswith("POST")
        path = asked.path.split("?")[0].removeprefix("/v1")
        if path == "/files" and post:
            name = f"file-{len(self.files)}"
            self.files[name] = re.findall(rb'\{"custom_id".*\}', asked.body)
            answer: Any = {"id": name, "object": "file", "bytes": 1, "created_at": 0,
                           "filename": "x", "purpose": "batch", "status": "processed"}  # fmt: skip
        elif path == "/batches" and post:
            name = f"batch-{len(self.batches)}"
            self.batches[name] = {"file": asked.body["input_file_id"], "looks": 0}
            if self.dies_after_creating:
                return None
            answer = self.batch(name)
        elif path == "/batches":
            data = [self.batch(name) for name in self.batches]
            answer = {"object": "list", "data": data, "has_more": False}
        elif path.startswith("/batches/"):
            name = path.rpartition("/")[2]
            self.batches[name]["looks"] += 1
            answer = self.batch(name)
        else:
            name = path.split("/")[2].removeprefix("out-")
            lines = self.files[self.batches[name]["file"]]
            return http(200, b"\n".join(self.reply(line) for line in lines))
        return http(200, json.dumps(answer).encode())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "FIRST_POLL", 0.01)


def test_batch_brings_verdicts_and_repairs_once(tmp_path: Path) -> None:
    api = FakeApi()
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
    api = FakeApi()
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
    api = FakeApi()
    api.first = json.dumps(GENUINE)
    cap = 0.02
    with judge_server(api) as server:
        about = cell(tmp_path, *[f"Turn {i}?" for i in range(40)])
        with pytest.raises(UserError, match="stopped before max_cost"):
            verdicts_of(judge(tmp_path, server.url, cap=cap, batch=True), about)
    assert 0 < money(spent(tmp_path), PRICE) <= cap
