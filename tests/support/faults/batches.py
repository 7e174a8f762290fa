"""Batches of three questions that go wrong, and how the run must end."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.support.batch_server import BatchServer
from tests.support.judge_server import http

STOPPED = "the Batch API cannot be used: "
UNREAD = "judge j: cells/m/d/t0/none: batch batch-0 may have been paid for, and its replies cannot "
REFUSED = "the API refused a batch: batch of file-0: "
TOO_LONG = "the conversation is longer than the judge's context"
FOREIGN = "f" * 64  # the key of no question


class BatchFault(NamedTuple):
    """A row of the matrix.

    Attributes:
        breaks: makes the API go wrong.
        stop: how the sentence begins with which the run stops; None if it goes on.
        reasons: how the reasons begin why there is no verdict, for each of the three turns, once
            the API is in order again and the same command has run again; None is a verdict.
        n_files: that were uploaded by then, with how many questions each.
        n_requests: on the ledger by then.
        n_unmetered: of them, those that count as large as they can be.
    """

    breaks: Callable[[BatchServer], None]
    stop: str | None
    reasons: tuple[str | None, str | None, str | None]
    n_files: tuple[int, ...]
    n_requests: int
    n_unmetered: int


GENUINE = (None, None, None)
NONSENSE = {
    "a page": b"<html>gateway</html>",
    "an empty object": b"{}",
    "an object of nulls": b'{"id": null, "status": null, "data": null, "output_file_id": null}',
    "an object of numbers": b'{"id": 1, "status": 1, "data": 1, "output_file_id": 1}',
    "null": b"null",
}


def response(status: int, message: str = "no", code: str | None = None) -> bytes:
    """Return an error of the API, which the client may try again at once."""
    body = {"error": {"message": message, "code": code}}
    return http(status, json.dumps(body).encode(), "retry-after-ms: 1")


def at(step: str, status: int, n_times: int = 1) -> Callable[[BatchServer], None]:
    """Have the next requests of a step fail."""

    def breaks(api: BatchServer) -> None:
        api.says[step] = [response(status)] * n_times

    return breaks


def stops(step: str, status: int, *n_files: int, n_times: int = 1) -> BatchFault:
    """A step that fails: the run stops, and the next one goes on with what is there."""
    return BatchFault(at(step, status, n_times), STOPPED, GENUINE, n_files or (3,), 3, 0)


def refused(step: str, status: int) -> BatchFault:
    """A file that is refused twice: the run stops, and the next one uploads it anew."""
    return BatchFault(at(step, status, 2), REFUSED, GENUINE, (3, 3), 3, 0)


def goes_on(step: str, status: int, n_times: int = 1) -> BatchFault:
    """A step that fails and is tried again."""
    return BatchFault(at(step, status, n_times), None, GENUINE, (3,), 3, 0)


def with_output(outputs: Any, *n_files: int, n_lost: int = 0, status: str = "completed",
                n_free: int = 0) -> BatchFault:  # fmt: skip
    """An output that lacks something the first time: what is lost is asked again."""

    def breaks(api: BatchServer) -> None:
        def first(lines: list[bytes]) -> Any:
            if len(api.files) > 1:
                api.status = "completed"
                return lines, None
            return outputs(lines)

        api.outputs, api.status = first, status

    return BatchFault(breaks, None, GENUINE, n_files, 3 + n_lost + n_free, n_lost)


def unread(outputs: Any = None, breaks: Callable[[BatchServer], None] | None = None) -> BatchFault:
    """An output that lacks what nothing explains: the batch stays open, and is read later."""

    def lacks(api: BatchServer) -> None:
        api.outputs = outputs

    return BatchFault(breaks or lacks, UNREAD, GENUINE, (3,), 3, 0)


def failed(*messages: str) -> BatchFault:
    """A batch that the API's check refuses."""

    def breaks(api: BatchServer) -> None:
        api.status, api.errors = "failed", list(messages)

    stop = REFUSED + (messages[0] if messages else "the API gives no reason")
    return BatchFault(breaks, stop, GENUINE, (3, 3), 3, 0)


def line_error(line: bytes, code: str) -> bytes:
    """Return the line of a question that the API did not ask."""
    error = {"code": code, "message": "not asked"}
    return json.dumps(json.loads(line) | {"response": None, "error": error}).encode()


def of_status(line: bytes, status: int, code: str = "x") -> bytes:
    """Return the line of a question that ended with a status."""
    body = {"status_code": status, "body": {"error": {"code": code}}}
    return json.dumps(json.loads(line) | {"response": body}).encode()


def settled(status: int, code: str, reason: str) -> BatchFault:
    """A line after which asking again is no use."""

    def breaks(api: BatchServer) -> None:
        api.outputs = lambda lines: (lines[:2], [of_status(lines[2], status, code)])

    return BatchFault(breaks, None, (None, None, reason), (3,), 3, 0)


def tried(status: int) -> BatchFault:
    """A line with an error, which is asked once more in a second batch."""
    return with_output(lambda lines: (lines[:2], [of_status(lines[2], status)]), 3, 1, n_free=1)


def gone(api: BatchServer) -> None:
    """Have the API forget the first batch."""
    api.gone.add("batch-0")


def dies(api: BatchServer) -> None:
    """Have the API hang up after it has made a batch."""
    api.dies_after_creating = True


def spoilt(bad: Callable[[bytes], bytes]) -> BatchFault:
    """A line in the middle that says nothing: it may be read at a later look."""
    return unread(lambda lines: ([lines[0], bad(lines[1]), lines[2]], None))


def says(step: str, body: bytes, n_times: int = 1) -> Callable[[BatchServer], None]:
    """Answer the next requests of a step with status 200 and something else than it should be."""

    def breaks(api: BatchServer) -> None:
        api.says[step] = [http(200, body)] * n_times

    return breaks


def nonsense(step: str, name: str) -> BatchFault:
    """A reply of status 200 that is none: the run stops, and the next one goes on."""
    stop = None if step == "look" else STOPPED  # looked at again
    return BatchFault(says(step, NONSENSE[name]), stop, GENUINE, (3,), 3, 0)


def renamed(line: bytes, name: Any) -> bytes:
    """Return a line with another custom_id."""
    return json.dumps(json.loads(line) | {"custom_id": name}).encode()


BATCHES = {
    **{f"upload: {status}": stops("upload", status) for status in (400, 401, 403, 404, 413, 429,
                                                                   500, 503)},
    **{f"create: {status}": stops("create", status) for status in (401, 403, 409, 500, 503)},
    **{f"create: {status} twice": refused("create", status) for status in (400, 404, 422)},
    **{f"create: {status} once": goes_on("create", status) for status in (400, 404, 422, 429)},
    "create: 429 twice": stops("create", 429, n_times=2),
    **{f"look: {status}": goes_on("look", status, 3) for status in (408, 409, 429, 500, 502, 503)},
    **{f"look: {status}": stops("look", status) for status in (400, 401, 403)},
    "look: 500 for long": stops("look", 500, n_times=7),
    "look: 404": goes_on("look", 404),
    "look: 404 for ever": unread(breaks=gone),
    **{f"read: {status}": goes_on("read", status, 3) for status in (429, 500, 503)},
    **{f"read: {status}": stops("read", status) for status in (401, 403)},
    "read: 500 for long": stops("read", 500, n_times=7),
    "read: 404": goes_on("read", 404),
    "read: 404 for ever": unread(breaks=at("read", 404, 99)),
    "hangs up after creating": BatchFault(dies, STOPPED, GENUINE, (3,), 3, 0),
    "check: wrong model": failed("the model 'm' does not exist"),
    "check: no reason": failed(),
    "expired before it began": with_output(lambda lines: (None, None), 3, 3, n_lost=3,
                                           status="expired"),
    "expired, with errors": with_output(
        lambda lines: (lines[:1], [line_error(line, "batch_expired") for line in lines[1:]]),
        3, 2, n_free=2, status="expired",
    ),
    "expired, without errors": with_output(lambda lines: (lines[:1], None), 3, 2, n_lost=2,
                                           status="expired"),
    "cancelled": with_output(lambda lines: (lines[:2], None), 3, 1, n_lost=1, status="cancelled"),
    "no output": unread(lambda lines: (None, None)),
    "an empty output": unread(lambda lines: ([], None)),
    "only errors": with_output(
        lambda lines: (None, [line_error(line, "server_error") for line in lines]), 3, 3, n_free=3
    ),
    "a line is missing": unread(lambda lines: (lines[:2], None)),
    "all lines twice": with_output(lambda lines: (lines + lines, None), 3),
    "another order": with_output(lambda lines: (lines[::-1], None), 3),
    "empty lines": with_output(lambda lines: ([b"", *lines, b" ", b""], None), 3),
    "a line of nobody": with_output(lambda lines: ([*lines, renamed(lines[0], FOREIGN)], None), 3),
    "a reply and an error": with_output(
        lambda lines: (lines, [line_error(lines[0], "server_error")]), 3
    ),
    "no JSON": spoilt(lambda line: b"oops"),
    "half a line": spoilt(lambda line: line[: len(line) // 2]),
    "no custom_id": spoilt(lambda line: line.replace(b"custom_id", b"other_id")),
    "a custom_id of nobody": spoilt(lambda line: renamed(line, FOREIGN)),
    "a custom_id that is null": spoilt(lambda line: renamed(line, None)),
    "a response that is text": spoilt(
        lambda line: json.dumps(json.loads(line) | {"response": "x"}).encode()
    ),
    **{f"a line of status {status}": tried(status) for status in (400, 401, 404, 408, 429, 500)},
    "a line without a response": with_output(
        lambda lines: (lines[:2], [line_error(lines[2], "request_timeout")]), 3, 1, n_free=1
    ),
    "a line that is too long": settled(400, "context_length_exceeded", TOO_LONG),
    **{
        f"{step}: {name}": nonsense(step, name)
        for step in ("upload", "create", "look")
        for name in NONSENSE
    },
    **{
        f"read: {name}": BatchFault(says("read", body), None, GENUINE, (3,), 3, 0)
        for name, body in NONSENSE.items()
    },
    "read: a page each time": unread(breaks=says("read", NONSENSE["a page"], 99)),
    "look: a state of no name": BatchFault(
        says("look", b'{"status": "frozen"}', 5), None, GENUINE, (3,), 3, 0
    ),
    "look: a state of no name for ever": unread(breaks=says("look", b'{"status": "frozen"}', 99)),
    "look: a state of another server": BatchFault(
        says("look", b'{"status": "queued"}', 9), None, GENUINE, (3,), 3, 0
    ),
    "a line that is filtered": settled(400, "content_filter", "the judge refused"),
}  # fmt: skip
