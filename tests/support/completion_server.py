"""What a server of completions says, in place of a model: as vLLM's, or of text alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.judge_server import Asked, http
from userturn.config.judge_keys import ServerEntry
from userturn.endpoints.budget import Account
from userturn.endpoints.concurrency import Pace
from userturn.models.completion_endpoint import CompletionEndpoint
from userturn.models.requests import Completion, Request, Sampling, make_request
from userturn.models.served import ServedModel
from userturn.models.server_check import ServerCheck
from userturn.prompts.chat_template import Template
from userturn.prompts.examples import EXAMPLE

NAME, KEY = "org/tiny", "sk-canary-7a1c90"


class Fake:
    """A model that writes 'Why <n>?' to each prompt of n tokens, behind a server like vLLM's."""

    def __init__(
        self, template: Template, with_ids: bool = True, bos: int = 0, is_llama: bool = False
    ) -> None:
        self.template, self.with_ids, self.bos = template, with_ids, bos
        self.is_llama = is_llama  # ids in, logprobs out; goes on after a control token, hidden
        self.fault: Callable[[dict[str, Any], Asked], bytes | None] | None = None

    def __call__(self, asked: Asked) -> bytes | None:
        if asked.path == "/v1/models":
            listed = {"data": [{"id": NAME, "max_model_len": 4096, "owned_by": "fake"}]}
            return http(200, json.dumps(listed).encode())
        if asked.path != "/v1/completions":
            return http(404, b"{}")
        if isinstance(asked.body["prompt"], list) and not self.with_ids:
            return http(400, b'{"error": {"message": "prompt must be text"}}')
        reply = self.reply(asked.body)
        is_ours = asked.body["max_tokens"] == 40  # of the requests below, not of the check
        if self.fault is not None and is_ours:
            return self.fault(reply, asked)
        return as_http(reply)

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        encode = self.template.encoder.encode_whole
        read = body["prompt"] if self.with_ids else encode(body["prompt"])
        seed = body.get("seed", 0) if body.get("top_k") != 1 else 0
        said = encode(f"Why {len(read)} {seed}?" + " and why" * 20)[: body["max_tokens"]]
        said = said if body["max_tokens"] < 40 else encode(f"Why {len(read)}?")
        end = list(self.template.stop_token_ids[:1]) if body["max_tokens"] == 40 else []
        choice: dict[str, Any] = {
            "text": self.template.decode(said),
            "finish_reason": "stop" if end else "length",
        }
        if self.is_llama:
            said = said + end + encode(" and more" * bool(end))
            choice["text"] = self.template.decode([i for i in said if i not in end])
            end = []
            choice["logprobs"] = (
                {"content": [{"id": i} for i in said]} if "logprobs" in body else None
            )
        elif self.with_ids:
            choice |= {"token_ids": said + end, "prompt_token_ids": read}
            if "prompt_logprobs" in body:
                scored = [{str(i): {"logprob": -float(n)}} for n, i in enumerate(read)]
                choice["prompt_logprobs"] = [None, *scored[1:]]
        usage = {"prompt_tokens": len(read) + self.bos, "completion_tokens": len(said + end)}
        return {"model": NAME, "choices": [choice], "usage": usage}


def as_http(reply: dict[str, Any], *headers: str) -> bytes:
    return http(200, json.dumps(reply).encode(), *headers)


def requests(template: Template, n: int) -> list[Request]:
    stops = template.stop_token_ids
    sampling = Sampling(0.0, 1.0, 0, 0.0, 40, stops, None)
    prompt = template.probe_prompt(EXAMPLE[:1], EXAMPLE[1]["content"])
    return [make_request({}, "d", f"i{i}", i, prompt, sampling) for i in range(n)]


def asked(
    template: Template,
    server: Any,
    folder: Path,
    wanted: list[Any],
    noted: list[ServerCheck] | None = None,
    timeout: float = 2,
    **account: Any,
) -> list[tuple[Any, Completion]]:
    settings: ServerEntry = {"model": NAME, "concurrency": 8, "timeout": timeout, "attempts": 2}
    endpoint = CompletionEndpoint(server.url, settings, KEY, Pace(8))
    paying = Account(folder, "model=tiny", "sweeps/tiny", **account)
    note = (noted if noted is not None else []).append
    engine = ServedModel("tiny", template, endpoint, paying, note)
    return [done for done in engine(wanted) if done is not None]
