"""What a Batch API says of a batch that was paid for, as if it were not there.

Each is the answer to one step, said once, five times or for ever; the batch itself is as it should
be, so its replies are there once the API says so.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.support.batch_server import BatchServer, step_of
from tests.support.faults.batches import FOREIGN, NONSENSE, renamed, response
from tests.support.judge_server import Asked, http

Says = Callable[[bytes | None], bytes | None]
"""What is said in place of the right response, which is None if the API hung up."""


def status(code: int, message: str = "not found") -> Says:
    """An error in place of the response."""
    return lambda right: response(code, message)


def body(content: bytes) -> Says:
    """Other bytes in place of the response."""
    return lambda right: http(200, content)


def content_of(right: bytes | None) -> bytes:
    """Return the body of a response."""
    return (right or b"").partition(b"\r\n\r\n")[2]


def state(**changes: object) -> Says:
    """The state of the batch with some fields changed, once it has ended."""

    def says(right: bytes | None) -> bytes | None:
        found = json.loads(content_of(right))
        is_running = found["status"] == "in_progress"
        return right if is_running else http(200, json.dumps(found | changes).encode())

    return says


def lines(change: Callable[[list[bytes]], list[bytes]]) -> Says:
    """Other lines of the output."""
    return lambda right: http(200, b"\n".join(change(content_of(right).splitlines())))


NO_FILES = {"output_file_id": None, "error_file_id": None}
REASON = {"errors": {"object": "list", "data": [{"message": "no", "code": "x"}]}}
PASSING: dict[str, tuple[str, Says]] = {
    "look: 404": ("look", status(404)),
    "look: 403": ("look", status(403)),
    "look: 410": ("look", status(410)),
    "look: 503": ("look", status(503)),
    **{f"look: {name}": ("look", body(content)) for name, content in NONSENSE.items()},
    "look: completed without a file": ("look", state(**NO_FILES)),
    "look: completed without the key of a file": ("look", body(b'{"status": "completed"}')),
    "look: expired without a file": ("look", state(status="expired", **NO_FILES)),
    "look: cancelled without a file": ("look", state(status="cancelled", **NO_FILES)),
    "look: failed with a reason": ("look", state(status="failed", **NO_FILES, **REASON)),
    "look: a state of no name": ("look", state(status="frozen", **NO_FILES)),
    "look: another file": ("look", state(output_file_id="out-batch-9")),
    "read: 404": ("read", status(404)),
    "read: 403": ("read", status(403)),
    "read: 503": ("read", status(503)),
    **{f"read: {name}": ("read", body(content)) for name, content in NONSENSE.items()},
    "read: one line of three": ("read", lines(lambda found: found[:1])),
    "read: half of it": ("read", lambda right: http(200, content_of(right)[:-200])),
    "read: a line of nobody": ("read", lines(lambda found: [renamed(found[0], FOREIGN)])),
    "read: no JSON": ("read", lines(lambda found: [b"oops", *found[1:]])),
    "create: made, and says 404": ("create", status(404)),
    "create: made, and says 400": ("create", status(400)),
    "create: made, and says 429": ("create", status(429)),
    "create: made, and says 500": ("create", status(500)),
    "create: made, and a page": ("create", body(NONSENSE["a page"])),
    "create: made, and hangs up": ("create", lambda right: None),
}
# That the batch is cut short, or was never begun, is believed if it is said for minutes.
BELIEVED = (
    "look: expired without a file",
    "look: cancelled without a file",
    "look: failed with a reason",
)


@dataclass
class Passing(BatchServer):
    """The API, one of whose steps says so many times that something is not there."""

    fault: str = ""
    n_times: int = 1
    n_said: int = field(default=0)

    def __call__(self, asked: Asked) -> bytes | None:
        """Answer one request, and what it asks for is done in any case."""
        right = super().__call__(asked)
        step, says = PASSING[self.fault]
        path = asked.path.split("?")[0].removeprefix("/v1")
        is_there = step != "look" or all(one["looks"] > 1 for one in self.batches.values())
        if step_of(path, asked.headers.startswith("POST")) != step or not is_there:
            return right
        self.n_said += 1
        return says(right) if self.n_said <= self.n_times else right

    @property
    def n_billed(self) -> int:
        """Replies that the API made and charges for."""
        return sum(len(self.files[str(batch["file"])]) for batch in self.batches.values())
