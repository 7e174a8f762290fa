"""A loopback server that answers as a judge's endpoint does, or as badly as a test wants."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.slow import starting

Body = dict[str, Any]
Answer = Callable[["Asked"], bytes | None]
"""Returns a whole HTTP response; None hangs up without a word."""
GENUINE = {"rationale": "It takes up the oil.", "label": "genuine_followup", "genuine": True}
USAGE = {
    "prompt_tokens": 900,
    "completion_tokens": 40,
    "prompt_tokens_details": {"cached_tokens": 512},
}


@dataclass(frozen=True)
class Asked:
    """One request: its number from 0, path, headers as text, and body."""

    number: int
    path: str
    headers: str
    body: Any


def http(status: int, body: bytes, *headers: str) -> bytes:
    """Return a response."""
    head = [f"HTTP/1.1 {status} X", "Content-Type: application/json", *headers]
    head.append(f"Content-Length: {len(body)}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def completion(content: Any, finish_reason: str = "stop", **message: Any) -> bytes:
    """Return the response of a chat completion; an object stands for its JSON."""
    text = json.dumps(content) if isinstance(content, dict) else content
    choice = {"finish_reason": finish_reason, "message": {"content": text, **message}}
    return http(200, json.dumps({"choices": [choice], "usage": USAGE}).encode())


def says(label: str, **other: Any) -> bytes:
    """Return a reply with one label, its boolean as it should be."""
    genuine = label == "genuine_followup"
    return completion({"rationale": "r", "label": label, "genuine": genuine} | other)


@dataclass
class JudgeServer:
    """Counts what it is asked, and answers as it is told."""

    answer: Answer
    asked: list[Asked] = field(default_factory=list)
    delay: float = 0.0
    port: int = 0
    n_now: int = 0
    n_most: int = 0

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int((re.findall(r"(?i)content-length: *(\d+)", head) or [0])[0])
                raw = await reader.readexactly(length)
                body = json.loads(raw) if raw[:1] == b"{" else raw
                asked = Asked(len(self.asked), head.split(" ")[1], head, body)
                self.asked.append(asked)
                self.n_now += 1
                self.n_most = max(self.n_most, self.n_now)
                await asyncio.sleep(self.delay)
                self.n_now -= 1
                response = self.answer(asked)
                if response is None:
                    break
                if response == HANG:
                    await asyncio.sleep(30)
                if response.startswith(DRIP):
                    for byte in response.removeprefix(DRIP):
                        writer.write(bytes([byte]))
                        await asyncio.sleep(0.05)
                    continue
                writer.write(response.removeprefix(BREAKS_OFF))
                await writer.drain()
                if response.startswith(BREAKS_OFF):
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


HANG = b"hang"
DRIP = b"drip"
BREAKS_OFF = b"breaks off"


@contextmanager
def judge_server(
    answer: Answer | None = None, delay: float = 0.0, port: int = 0
) -> Iterator[JudgeServer]:
    """Run a server in a thread, at a free port; by default it calls everything genuine."""
    starting("a server")
    server = JudgeServer(answer or (lambda _: completion(GENUINE)), delay=delay)
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    async def start() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", port, limit=2**24)
        server.port = listening.sockets[0].getsockname()[1]
        ready.set()

    async def end() -> None:
        tasks = asyncio.all_tasks(loop) - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def run() -> None:
        loop.run_until_complete(start())
        loop.run_forever()
        loop.run_until_complete(end())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
