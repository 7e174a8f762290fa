"""CPU of one request to a server that has the model, beside a plain aiohttp script.

`python benchmarks/serving.py FOLDER_OF_MODEL [N] [AT_ONCE]` starts a server on loopback that
answers at once as vLLM's does, asks it N requests with each client in a process of its own, in
turn, and prints CPU-ms a request (user and system).
"""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MAX_TOKENS, WRITTEN, PROMPT = 40, 39, 600  # tokens
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Answering(asyncio.Protocol):
    """Writes the same word, as many times as asked, and ends a long turn."""

    word, text, end = 0, "", 0
    data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport: Any = transport

    def data_received(self, data: bytes) -> None:
        """Answer a request as soon as it is whole."""
        self.data += data
        head, _, body = self.data.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        if length and len(body) < int(length):
            return
        self.data = b""
        if head.startswith(b"GET") or b"/completions" not in head:
            self.transport.write(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")
            return
        raw = json.dumps(self.reply(json.loads(body))).encode()
        self.transport.write(HEAD % len(raw) + raw)

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a completion."""
        stops = body["max_tokens"] == MAX_TOKENS
        n = WRITTEN if stops else body["max_tokens"]
        choice = {
            "text": self.text * n,
            "token_ids": [self.word] * n + [self.end] * stops,
            "prompt_token_ids": body["prompt"],
            "finish_reason": "stop" if stops else "length",
        }
        usage = {"prompt_tokens": len(body["prompt"]), "completion_tokens": n + stops}
        return {"model": "m", "choices": [choice], "usage": usage}


async def serve(word: str, text: str, end: str) -> None:
    """Serve, and print the port."""
    Answering.word, Answering.text, Answering.end = int(word), text, int(end)
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def plain(url: str, bodies: list[dict[str, Any]], at_once: int, folder: Path) -> None:
    """Ask with aiohttp alone, and write each reply as a line."""
    import aiohttp

    async def ask_all() -> None:
        waiting = iter(bodies)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            with (folder / "replies.jsonl").open("a") as journal:

                async def work() -> None:
                    for body in waiting:
                        async with session.post(f"{url}/completions", json=body) as response:
                            print(json.dumps(await response.json()), file=journal, flush=True)

                await asyncio.gather(*(work() for _ in range(at_once)))

    asyncio.run(ask_all())


def client(name: str, model: str, url: str, n: str, at_once: str) -> None:
    """Ask with one client; print CPU-ms and ms a request, imports and tokenizer left out."""
    import logging

    from userturn.endpoints.budget import Account
    from userturn.endpoints.concurrency import Pace
    from userturn.generation.ask_engine import to_record
    from userturn.models.completion_endpoint import CompletionEndpoint, Dialect, fields_of
    from userturn.models.requests import Sampling, make_request
    from userturn.models.served import ServedModel
    from userturn.prompts.chat_template import Prompt
    from userturn.prompts.load_template import load_template
    from userturn.storage.journal import Writer

    logging.disable()
    template = load_template(Path(model), {"enable_thinking": False}, "2026-04-02")  # type: ignore
    word = template.encoder.encode_whole(" word")[0]
    sampling = Sampling(0.0, 1.0, 0, 0.0, MAX_TOKENS, template.stop_token_ids, None)
    prompt = Prompt("", (word,) * PROMPT)
    asked = [make_request({}, "d", "i", i, prompt, sampling) for i in range(int(n))]
    fields = [{"model": "m", **fields_of(r, Dialect(True, True, True), template)} for r in asked]
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        if name == "plain":
            plain(url, fields, int(at_once), Path(folder))
        else:
            settings: Any = {
                "model": "m",
                "concurrency": int(at_once),
                "timeout": 60,
                "attempts": 3,
            }
            endpoint = CompletionEndpoint(url, settings, None, Pace(int(at_once)))
            account = Account(Path(folder), "model=m", "sweeps/m")
            engine = ServedModel("m", template, endpoint, account, lambda _: None)
            with Writer(Path(folder, "journal")) as journal:
                for request, made in filter(None, engine(asked)):
                    assert made.error is None, made.error
                    journal.append(to_record(request, made, template))  # type: ignore[arg-type]
        now = resource.getrusage(resource.RUSAGE_SELF)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    print(json.dumps([1000 * cpu / int(n), 1000 * (time.perf_counter() - began) / int(n)]))


def main(model: str, n: str = "2000", at_once: str = "64") -> None:
    """Compare both clients, three times in turn."""
    from userturn.prompts.load_template import load_template

    template = load_template(Path(model), {"enable_thinking": False}, "2026-04-02")  # type: ignore
    word, end = template.encoder.encode_whole(" word")[0], template.stop_token_ids[0]
    command = [sys.executable, __file__]
    given = ["serve", str(word), template.decode([word]), str(end)]
    with subprocess.Popen([*command, *given], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        try:
            for _ in range(3):
                for name in ("plain", "userturn"):
                    ask = [*command, "client", name, model, url, n, at_once]
                    said = subprocess.run(ask, capture_output=True, text=True, check=True).stdout
                    cpu, wall = json.loads(said.splitlines()[-1])
                    print(f"{name:<9} {cpu:6.2f} CPU-ms, {wall:6.2f} ms a request", flush=True)
        finally:
            server.terminate()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        asyncio.run(serve(*sys.argv[2:]))
    elif sys.argv[1] == "client":
        client(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
