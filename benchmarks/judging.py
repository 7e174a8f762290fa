"""What a verdict costs this machine: CPU-milliseconds and peak memory at growing numbers of turns.

Run from the project's root: `python benchmarks/judging.py`. A trivial server on loopback answers at
once; each number of turns is judged by a process of its own, journal and ledger included.
"""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from userturn.config import complete_judges, load_config
from userturn.endpoint_judging import endpoint_verdicts
from userturn.judges import CellToJudge, Judge

NUMBERS = (1_000, 10_000, 100_000)
CONTENT = {
    "rationale": "It asks about the oil of the answer.",
    "label": "generic",
    "genuine": False,
}


def response() -> bytes:
    """Return the one response of the server."""
    usage = {"prompt_tokens": 900, "completion_tokens": 40}
    choice = {"finish_reason": "stop", "message": {"content": json.dumps(CONTENT)}}
    body = json.dumps({"choices": [choice], "usage": usage}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Trivial(asyncio.Protocol):
    """Answers every request alike, without reading it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the connection."""
        self.transport, self.data = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer as soon as a whole request is there."""
        self.data += data
        head, _, body = self.data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(body) == length:
            self.data = b""
            self.transport.write(response())


async def serve() -> None:
    """Serve, and print the port."""
    server = await asyncio.get_running_loop().create_server(Trivial, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def judge(n_turns: int, port: str) -> None:
    """Judge so many turns in this process and print what that took."""
    folder = Path(tempfile.mkdtemp())
    ids = [str(number) for number in range(n_turns)]
    turns = {
        "dataset": "d",
        "item": ids,
        "answer": "Toast the rice in a little oil, then steam it. " * 20,
        "outcome": "ok",
        "text": [f"How hot should the oil be for {i} people?" for i in ids],
        "error": None,
    }
    pl.DataFrame(turns).write_parquet(folder / "turns.parquet")
    asked = [[{"role": "user", "content": "How do I cook rice? " * 10}]] * n_turns
    pl.DataFrame({"item": ids, "messages": asked}).write_parquet(folder / "items.parquet")
    del turns, asked, ids
    config = load_config(["config.yaml"])
    settings = complete_judges(config)["gpt-5.4-mini"] | {"base_url": f"http://127.0.0.1:{port}/v1"}
    del settings["key_variable"]
    cell = CellToJudge(str(folder / "turns.parquet"), str(folder / "items.parquet"))
    prices = {"j": settings["price"]}
    before, began = time.process_time(), time.monotonic()
    peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    endpoint_verdicts(Judge("j", settings, folder, folder / "costs", prices, 1e6, 0.0), cell, 32)
    cpu, wall = time.process_time() - before, time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{n_turns:>8,} verdicts: {cpu / n_turns * 1000:.2f} ms of CPU each, {wall:.1f} s, "
        f"peak {peak / 1024:.0f} MiB, {peak_before / 1024:.0f} of them before"
    )


def main() -> None:
    """Run every number in a process of its own."""
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    elif sys.argv[1:]:
        judge(int(sys.argv[1]), sys.argv[2])
    else:
        command = [sys.executable, __file__]
        with subprocess.Popen([*command, "serve"], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            for number in NUMBERS:
                subprocess.run([*command, str(number), port], check=True, stderr=subprocess.DEVNULL)
            server.terminate()


if __name__ == "__main__":
    main()
