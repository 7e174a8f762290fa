"""What a server of completions says, in place of a model: as vLLM's, or of text alone."""

import json
from collections.abc import Callable
from typing import Any

from tests.support.judge_server import Asked, http
from userturn.prompts.chat_template import Template

NAME = "org/tiny"


class Fake:
    """A model that writes 'Why <n>?' to each prompt of n tokens, behind a server like vLLM's."""

    def __init__(self, template: Template, with_ids: bool = True, bos: int = 0) -> None:
        self.template, self.with_ids, self.bos = template, with_ids, bos
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
        if self.with_ids:
            choice |= {"token_ids": said + end, "prompt_token_ids": read}
            if "prompt_logprobs" in body:
                scored = [{str(i): {"logprob": -float(n)}} for n, i in enumerate(read)]
                choice["prompt_logprobs"] = [None, *scored[1:]]
        usage = {"prompt_tokens": len(read) + self.bos, "completion_tokens": len(said + end)}
        return {"model": NAME, "choices": [choice], "usage": usage}


def as_http(reply: dict[str, Any], *headers: str) -> bytes:
    return http(200, json.dumps(reply).encode(), *headers)
