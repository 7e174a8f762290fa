"""The Batch API in memory, behind `judge_server`: as it should be, or as badly as a test wants."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.judge_server import GENUINE, USAGE, Asked, http
from userturn.judges.batch_api import PATH


@dataclass
class BatchServer:
    """Files and batches in memory; a batch has ended at the second look.

    Attributes:
        first: the reply to a question.
        repaired: the reply to a question that is put once more.
        usage: of every reply; None leaves it out.
        status: of a batch that has ended.
        errors: of a batch that failed.
        refusal: body of a response of status 400, in place of all replies.
        gone: batches that the API knows no more.
        n_looks_that_fail: with status 500.
        dies_after_creating: a batch is made, and the connection ends without a word.
        spoil: changes a line of the output, by the name of the file and its number.
    """

    first: str = "?"
    repaired: str = json.dumps(GENUINE)
    usage: Any = field(default_factory=lambda: USAGE)
    status: str = "completed"
    errors: list[str] = field(default_factory=list)
    refusal: Any = None
    gone: set[str] = field(default_factory=set)
    n_looks_that_fail: int = 0
    dies_after_creating: bool = False
    spoil: Callable[[str, int, bytes], bytes] = lambda file, number, line: line
    files: dict[str, list[bytes]] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)

    def batch(self, name: str) -> dict[str, Any]:
        """Return a batch as the API shows it."""
        state = self.batches[name]
        done = state["looks"] > 1
        has_output = done and self.status != "failed"
        data = [{"message": message, "code": "x"} for message in self.errors]
        return {
            "id": name,
            "object": "batch",
            "endpoint": PATH,
            "completion_window": "24h",
            "created_at": 0,
            "input_file_id": state["file"],
            "status": self.status if done else "in_progress",
            "output_file_id": f"out-{name}" if has_output else None,
            "errors": {"object": "list", "data": data} if done and data else None,
        }

    def reply(self, line: bytes) -> bytes:
        """Return the line of an output for the line of a file."""
        request = json.loads(line)
        is_repair = "An earlier reply" in request["body"]["messages"][-1]["content"]
        content = self.repaired if is_repair else self.first
        choice = {"finish_reason": "stop", "message": {"content": content}}
        body: Any = {"choices": [choice], "usage": self.usage}
        if self.usage is None:
            del body["usage"]
        response = {"status_code": 200, "body": body}
        if self.refusal is not None:
            response = {"status_code": 400, "body": self.refusal}
        return json.dumps({"custom_id": request["custom_id"], "response": response}).encode()

    def look(self, name: str) -> bytes:
        """Return what the API says of one batch."""
        if self.n_looks_that_fail:
            self.n_looks_that_fail -= 1
            return http(500, b"oops", "retry-after-ms: 1")
        if name in self.gone:
            return http(404, b'{"error": {"message": "No such batch"}}')
        self.batches[name]["looks"] += 1
        return http(200, json.dumps(self.batch(name)).encode())

    def content(self, name: str) -> bytes:
        """Return the output of a batch."""
        file = self.batches[name]["file"]
        lines = [self.reply(line) for line in self.files[file]]
        spoilt = [self.spoil(file, number, line) for number, line in enumerate(lines)]
        return http(200, b"\n".join(spoilt))

    def __call__(self, asked: Asked) -> bytes | None:
        """Answer one request."""
        post = asked.headers.startswith("POST")
        path = asked.path.split("?")[0].removeprefix("/v1")
        if path == "/files" and post:
            name = f"file-{len(self.files)}"
            self.files[name] = re.findall(rb'\{"custom_id".*\}', asked.body)
            about = {"bytes": 1, "created_at": 0, "filename": "x", "purpose": "batch"}
            answer: Any = {"id": name, "object": "file", "status": "processed", **about}
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
            return self.look(path.rpartition("/")[2])
        else:
            return self.content(path.split("/")[2].removeprefix("out-"))
        return http(200, json.dumps(answer).encode())
