"""The Batch API in memory, behind `judge_server`: as it should be, or as badly as a test wants."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.support.judge_server import GENUINE, USAGE, Asked, http
from userturn.judges.batch_api import PATH

Outputs = Callable[[list[bytes]], tuple[list[bytes] | None, list[bytes] | None]]


@dataclass
class BatchServer:
    """Files and batches in memory; a batch has ended at the second look.

    Attributes:
        first: the reply to a question.
        repaired: the reply to a question that is put once more.
        body: of every reply, in place of all that follows from the above.
        usage: of every reply; None leaves it out.
        status: of a batch that has ended.
        errors: of a batch that failed.
        refusal: body of a response of status 400, in place of all replies.
        fails: batches that the API never began, whatever the status of others.
        gone: batches that the API knows no more.
        keeps_questions: whether the API gives a file of questions back.
        n_looks_that_fail: with status 500.
        dies_after_creating: a batch is made, and the connection ends without a word.
        spoil: changes a line of the output, by the name of the file and its number.
        outputs: what of the output is in its file and what in the file of errors; None is no file.
        says: responses to the next requests of a step, in place of what follows from the above.
    """

    first: str = "?"
    repaired: str = json.dumps(GENUINE)
    body: Any = ...
    usage: Any = field(default_factory=lambda: USAGE)
    status: str = "completed"
    errors: list[str] = field(default_factory=list)
    refusal: Any = None
    fails: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    keeps_questions: bool = True
    n_looks_that_fail: int = 0
    dies_after_creating: bool = False
    spoil: Callable[[str, int, bytes], bytes] = lambda file, number, line: line
    outputs: Outputs = lambda lines: (lines, None)
    says: dict[str, list[bytes]] = field(default_factory=dict)
    files: dict[str, list[bytes]] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)

    def batch(self, name: str) -> dict[str, Any]:
        """Return a batch as the API shows it."""
        state = self.batches[name]
        done = state["looks"] > 1 or name in self.fails
        status = "failed" if name in self.fails else self.status
        has_output, has_errors = (
            done and status != "failed" and lines is not None for lines in self.lines(name)
        )
        data = [{"message": message, "code": "x"} for message in self.errors]
        return {
            "id": name,
            "object": "batch",
            "endpoint": PATH,
            "completion_window": "24h",
            "created_at": 0,
            "input_file_id": state["file"],
            "status": status if done else "in_progress",
            "output_file_id": f"out-{name}" if has_output else None,
            "error_file_id": f"err-{name}" if has_errors else None,
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
        response = {"status_code": 200, "body": body if self.body is ... else self.body}
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

    def lines(self, name: str) -> tuple[list[bytes] | None, list[bytes] | None]:
        """Return the lines of a batch's output and of its errors."""
        file = self.batches[name]["file"]
        lines = [self.reply(line) for line in self.files[file]]
        return self.outputs([self.spoil(file, n, line) for n, line in enumerate(lines)])

    def content(self, name: str) -> bytes:
        """Return a file of questions or of a batch's output."""
        if name in self.files and self.keeps_questions:
            return http(200, b"\n".join(self.files[name]))
        kind, _, batch = name.partition("-")
        if batch not in self.batches:
            return http(404, b'{"error": {"message": "No such file"}}')
        found = self.lines(batch)[kind == "err"] or []
        return http(200, b"\n".join(found))

    def __call__(self, asked: Asked) -> bytes | None:
        """Answer one request."""
        post = asked.headers.startswith("POST")
        path = asked.path.split("?")[0].removeprefix("/v1")
        step = step_of(path, post)
        if self.says.get(step):
            return self.says[step].pop(0)
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
            return self.content(path.split("/")[2])
        return http(200, json.dumps(answer).encode())


def step_of(path: str, is_post: bool) -> str:
    """Return what a request is for: upload, create, list, look or read."""
    if path == "/files":
        return "upload"
    if path == "/batches":
        return "create" if is_post else "list"
    return "look" if path.startswith("/batches/") else "read"
