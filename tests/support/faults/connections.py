"""Connections that break, bodies that cannot be decoded, and headers that are not in order."""

import gzip
import json
import zlib

from tests.support.faults.row import BOUND, GOOD, NO_CONTENT, Fault, again, chat, twice, verdict
from tests.support.judge_server import BREAKS_OFF, USAGE, http

WHOLE = json.dumps(chat(GOOD)).encode()
BROKE = "the connection broke"


def page(body: bytes, *headers: str) -> Fault:
    """A body that is no JSON."""
    return twice(http(200, body, *headers), NO_CONTENT, BOUND)


def good(body: bytes, *headers: str) -> Fault:
    """A completion in another encoding."""
    return verdict(http(200, body, *headers))


def broken(response: bytes | None) -> Fault:
    """A connection that ends before the response does."""
    return again(response if response is None else BREAKS_OFF + response, BROKE)


def undecodable(body: bytes, encoding: str) -> Fault:
    """A body that is not what its header says."""
    return again(http(200, body, f"Content-Encoding: {encoding}"), BROKE)


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """Return a response in chunks."""
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + end


LATIN = json.dumps(chat(GOOD.replace("oil", "öl")), ensure_ascii=False).encode("latin-1")
CONNECTIONS = {
    "hangs up": broken(None),
    "half a head": broken(b"HTTP/1.1 200"),
    "half a chunk": broken(chunked(WHOLE[:20], end=b"ff\r\n{")),
    "a chunk of no length": broken(chunked(end=b"zz\r\n{}\r\n")),
    "no HTTP": broken(b"hi\r\n\r\n"),
    "TLS": broken(b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n"),
    "a head of 100,000 bytes": broken(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"),
    "a length below zero": broken(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"),
    "gzip": good(gzip.compress(WHOLE), "Content-Encoding: gzip"),
    "deflate": good(zlib.compress(WHOLE), "Content-Encoding: deflate"),
    "gzip that is none": undecodable(b"not gzip", "gzip"),
    "deflate that is none": undecodable(WHOLE, "deflate"),
    "an encoding of nobody": good(WHOLE, "Content-Encoding: none-such"),
    "chunks": verdict(chunked(WHOLE[:20], WHOLE[20:])),
    "the end of the connection ends the body": verdict(
        BREAKS_OFF + b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + WHOLE
    ),
    "HTTP 1.0": verdict(BREAKS_OFF + b"HTTP/1.0 200 OK\r\n\r\n" + WHOLE),
    "keep-alive lines before the JSON": page(b": OPENROUTER PROCESSING\n\n" + WHOLE),
    "a stream of events": page(b"data: " + WHOLE + b"\n\ndata: [DONE]\n\n"),
    "JSON that is called HTML": good(WHOLE, "Content-Type: text/html; charset=none-such"),
    "empty body": page(b""),
    "cut JSON": page(WHOLE[:-20]),
    "not UTF-8": page(b"\xff\xfe"),
    "Latin-1": page(LATIN, "Content-Type: application/json; charset=latin-1"),
    "UTF-16": good(WHOLE.decode().encode("utf-16"), "Content-Type: application/json"),
    "UTF-8 with a mark": good(b"\xef\xbb\xbf" + WHOLE),
    "a number of 5,000 digits": page(WHOLE.replace(b'"stop"', b"9" * 5_000)),
    "brackets, 500,000 deep": page(b"[" * 500_000),
    "2 MB of a page": twice(http(200, b"x" * 2_000_000), NO_CONTENT, BOUND),
    "2 MB of a completion": twice(
        http(200, json.dumps(chat("x" * 2_000_000)).encode()), NO_CONTENT, BOUND
    ),
    "20 MB out of 20 kB": twice(
        http(200, gzip.compress(b"x" * 20_000_000), "Content-Encoding: gzip"), NO_CONTENT, BOUND
    ),
    "a usage in the headers alone": twice(
        http(200, b"{}", f"X-Usage: {json.dumps(USAGE)}"), NO_CONTENT, BOUND
    ),
}
