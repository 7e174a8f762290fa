"""Read the lines of a batch's output, make records of them, and find those already journalled."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from userturn.endpoints.http_errors import error_in, why_unscored
from userturn.endpoints.response_body import Received, without_surrogates
from userturn.judges.chat_endpoint import ChatEndpoint
from userturn.judges.decide import Read, left_open, record_of
from userturn.judges.decisions import Record
from userturn.judges.parse_reply import read_reply
from userturn.storage.journal import decode_line

KEY = re.compile(r"[0-9a-f]{64}")


class BatchReply(NamedTuple):
    """One reply of a batch.

    Attributes:
        key: key of the question.
        status: HTTP status of the response, 0 without one.
        body: body of the response.
        text: the API's message if the status is not 200.
    """

    key: str
    status: int
    body: bytes
    text: str


def _read_line(line: bytes) -> BatchReply | None:
    try:
        parsed: Any = json.loads(line)
        key, response = parsed["custom_id"], parsed.get("response") or {}
        status, body = response.get("status_code", 0), response.get("body")
        text = json.dumps(parsed.get("error") or body)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(key, str) or not KEY.fullmatch(key) or not isinstance(status, int):
        return None
    return BatchReply(key, status, json.dumps(body).encode(), text)


def read_lines(contents: Iterable[bytes]) -> tuple[list[BatchReply], int]:
    """Return the replies in a batch's output files, and the number of unreadable lines."""
    lines = [line for content in contents for line in content.splitlines() if line.strip()]
    found = [reply for line in lines if (reply := _read_line(line)) is not None]
    return found, len(lines) - len(found)


def record_of_reply(
    reply: BatchReply, endpoint: ChatEndpoint, read: Read, first_reason: str | None
) -> tuple[Record, Mapping[str, Any] | None]:
    """Return the journal's record of a reply and its usage, None if nothing was billed.

    Args:
        reply: one reply of a batch.
        endpoint: the endpoint, whose key is kept out of the record.
        read: parses the reply.
        first_reason: why the first reply could not be read, if this one answers a repair.
    """
    received = Received(reply.body)
    parsed, usage = read_reply(received)
    is_good = 200 <= reply.status < 300
    found = error_in(received) if is_good else (reply.status, reply.text)
    if found is not None:
        what = "an error in a reply" if is_good else f"status {found[0]}"
        text = endpoint.redacted(f"batch: {what}: {without_surrogates(found[1])}", 300)
        why = why_unscored(found[1])
        about = {"key": reply.key, "outcome": "error", "reason": text}
        if why is not None:
            about = {"key": reply.key, "outcome": "unscored", "reason": why, "reply": text}
        return cast(Record, about), usage if is_good else None
    record = record_of(reply.key, parsed, read, endpoint)
    if first_reason is not None and record["outcome"] != "ok":
        record = left_open(record, first_reason)
    return record, usage


def keys_collected(journal: Path, batch: str) -> set[str]:
    """Return the keys of the questions whose replies from a batch are in a journal."""
    name = batch.encode()
    keys = set()
    for path in sorted(journal.glob("[!.]*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                record = decode_line(line) if name in line else None
                if record is not None and record.get("of_batch") == batch:
                    keys.add(str(record["key"]))
    return keys
