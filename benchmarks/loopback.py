"""An OpenAI-compatible server on loopback that answers alike and notes what it is asked.

`python benchmarks/loopback.py LOG DELAY` prints its port. One line of LOG is the digest of one
request's body: repeated lines are repeated requests.
"""

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

VERDICT = {"rationale": "It asks about the oil.", "label": "generic", "genuine": False}


def response() -> bytes:
    """Return the one response: a completion and a chat completion at once."""
    text = json.dumps(VERDICT)
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "text": text, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 90, "completion_tokens": 40, "total_tokens": 130}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    raw = json.dumps(body | {"choices": [choice], "usage": usage}).encode()
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return (head % len(raw)).encode() + raw


class Loopback(asyncio.Protocol):
    """Answers every request of one connection after a delay."""

    def __init__(self, log: Path, delay: float) -> None:
        """Prepare to note requests in a file."""
        self.log, self.delay, self.data = log, delay, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Note a request as soon as it is whole, and answer it later."""
        self.data += data
        head, _, body = self.data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(body) == length:
            self.data = b""
            with self.log.open("a") as file:
                file.write(hashlib.sha256(body).hexdigest() + "\n")
            asyncio.get_running_loop().call_later(self.delay, self._answer)

    def _answer(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(response())  # type: ignore[attr-defined]


async def serve(log: Path, delay: float) -> None:
    """Serve, and print the port."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Loopback(log, delay), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass(frozen=True)
class Server:
    """A running server: its base URL, and what it was asked."""

    url: str
    log: Path

    @property
    def n_asked(self) -> int:
        """Requests so far."""
        return len(self.log.read_text().splitlines())

    @property
    def n_repeated(self) -> int:
        """Requests so far that had been asked before."""
        lines = self.log.read_text().splitlines()
        return len(lines) - len(set(lines))


@contextmanager
def loopback(folder: Path, delay: float = 0.0) -> Iterator[Server]:
    """Run a server in a process of its own."""
    log = folder / "requests.log"
    log.write_text("")
    command = [sys.executable, __file__, str(log), str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield Server(f"http://127.0.0.1:{server.stdout.readline().strip()}/v1", log)
        finally:
            server.terminate()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2])))
