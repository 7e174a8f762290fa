"""The openai client is the reference: equal requests on the wire, an equal reading of replies."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from tests.support.batch_server import BatchServer
from tests.support.faults.providers import PROVIDERS
from tests.support.judge_server import GENUINE, USAGE, Asked, JudgeServer, http, judge_server
from tests.support.judged_cell import cell, judge, verdicts_of
from userturn.endpoints.http_replies import Received
from userturn.judges import batch_api
from userturn.judges.endpoint_verdicts import json_format, questions_about
from userturn.judges.judge import Judge
from userturn.judges.parse_reply import read_reply
from userturn.judges.question import load_prompt
from userturn.judges.session import ChatEndpoint

pytestmark = pytest.mark.slow

KEY = "sk-reference-1"
MESSAGES = [
    {"role": "system", "content": "Judge \u201cthis\u201d: \\ \u2028 \U0001f9c2"},
    {"role": "user", "content": 'Grüße, "quoted", \t and \u0000.'},
]
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"max_tokens": 100},
    "of a model that reasons": {"max_completion_tokens": 2_000, "reasoning_effort": "low"},
    "sampled": {"temperature": 0, "top_p": 0.5, "seed": 7, "stop": ["x"], "n": 1},
    "of vLLM": {"max_tokens": 9, "chat_template_kwargs": {"enable_thinking": False}, "top_k": 1},
    "of OpenRouter": {"max_tokens": 9, "provider": {"require_parameters": True}, "usage": {}},
}
REPLIES = {
    "a verdict": {"message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"},
    "a refusal": {"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"},
    "cut off": {"message": {"content": "{"}, "finish_reason": "length"},
    "filtered": {"message": {"content": ""}, "finish_reason": "content_filter"},
    "without content": {"message": {"role": "assistant"}, "finish_reason": "tool_calls"},
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    monkeypatch.setattr(batch_api, "FIRST_POLL", 0.01)


def one_of(results: Path, server: JudgeServer, **changes: Any) -> Judge:
    return judge(results, server.url, key_variable="JUDGE_KEY", **changes)


def endpoint_of(one: Judge) -> ChatEndpoint:
    return json_format(one).open_endpoint(one.settings["base_url"], 1)


def client_of(server: JudgeServer) -> openai.OpenAI:
    return openai.OpenAI(api_key=KEY, base_url=server.url, max_retries=0)


def on_the_wire(asked: Asked) -> tuple[Any, ...]:
    """Return what an endpoint reads: the request line, key and type, and the canonical body.

    A multipart body is without its boundary, and JSON with sorted keys.
    """
    line, *headers = asked.headers.strip().split("\r\n")
    read = dict(header.lower().split(": ", 1) for header in headers)
    body = asked.body
    if isinstance(body, bytes):
        boundary = re.match(rb"--(\w+)", body)
        body = body.replace(boundary[1], b"boundary") if boundary else body
    else:
        body = json.dumps(body, sort_keys=True).encode()
    kind = read.get("content-type", "").partition(";")[0] if body else ""
    return line, read.get("authorization"), kind, body


@pytest.mark.parametrize("form", ["text", "json_object", "json_schema"])
@pytest.mark.parametrize("name", SETTINGS)
def test_chat_completion_is_the_one_that_the_client_sends(
    name: str, form: str, tmp_path: Path
) -> None:
    with judge_server() as server:
        endpoint = endpoint_of(one_of(tmp_path, server, settings=SETTINGS[name], reply=form))

        async def complete() -> None:
            account = one_of(tmp_path, server).account("x")
            with account:
                async with endpoint:
                    await endpoint.complete(MESSAGES, account)

        asyncio.run(complete())
        more = dict(endpoint.fixed)
        client_of(server).chat.completions.create(
            model=more.pop("model"), messages=MESSAGES, extra_body=more
        )
        ours, theirs = map(on_the_wire, server.asked)
    assert ours == theirs


@pytest.mark.parametrize("name", REPLIES)
def test_reply_is_read_as_the_client_reads_it(name: str) -> None:
    choice = {"index": 0, "logprobs": None} | REPLIES[name]
    usage = USAGE | {"total_tokens": 940}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m-2026-03-17",
            "choices": [choice], "usage": usage, "system_fingerprint": "fp"}  # fmt: skip
    with judge_server(lambda _: http(200, json.dumps(body).encode())) as server:
        theirs = client_of(server).chat.completions.create(model="m", messages=MESSAGES)
    ours, usage_read = read_reply(Received(json.dumps(body).encode()))
    said = theirs.choices[0].message
    assert (ours.content, ours.refusal) == (said.content, said.refusal)
    assert (ours.finish_reason, ours.model) == (theirs.choices[0].finish_reason, theirs.model)
    assert theirs.usage is not None
    assert usage_read == theirs.usage.model_dump(exclude_unset=True)


def test_batch_is_uploaded_created_looked_at_and_read_as_the_client_does(tmp_path: Path) -> None:
    api = BatchServer(first=json.dumps(GENUINE))
    about = cell(tmp_path, "Why?", "How?")
    with judge_server(api) as server:
        one = one_of(tmp_path, server, batch=True)
        verdicts_of(one, about)
        n_ours = len(server.asked)
        lines = [*api.files["file-0"]]
        client = client_of(server)
        content = b"\n".join(lines) + b"\n"
        client.files.create(file=("questions.jsonl", content), purpose="batch")
        made = client.batches.create(
            input_file_id="file-1", endpoint="/v1/chat/completions", completion_window="24h"
        )
        while client.batches.retrieve(made.id).status != "completed":
            pass
        output = client.batches.retrieve(made.id).output_file_id
        assert output is not None
        client.files.content(output)
        ours, theirs = ([on_the_wire(asked) for asked in part]
                        for part in (server.asked[:n_ours], server.asked[n_ours:]))  # fmt: skip
    renamed = [tuple(str(part).replace("file-1", "file-0").replace("batch-1", "batch-0")
                     for part in request) for request in theirs]  # fmt: skip
    assert list(dict.fromkeys(tuple(map(str, one)) for one in ours)) == list(dict.fromkeys(renamed))


def test_line_of_a_batch_has_the_body_of_the_direct_request(tmp_path: Path) -> None:
    """So has the line of a repair: both are made of the same question."""
    api = BatchServer(first="?")

    def answer(asked: Asked) -> bytes | None:
        is_direct = asked.path.endswith("/chat/completions")
        first = {"finish_reason": "stop", "message": {"content": "?"}}
        return http(200, json.dumps({"choices": [first]}).encode()) if is_direct else api(asked)

    with judge_server(answer) as server:
        verdicts_of(one_of(tmp_path / "a", server), cell(tmp_path / "a", "Why?"))
        direct = [asked.body for asked in server.asked]
        one, about = one_of(tmp_path / "b", server, batch=True), cell(tmp_path / "b", "Why?")
        verdicts_of(one, about)
        (question,) = questions_about(about, load_prompt(one.settings))
    lines = [json.loads(line) for file in api.files.values() for line in file]
    assert [line["body"] for line in lines] == direct and len(direct) == 2
    assert question is not None
    fixed = {"custom_id": question.key, "method": "POST", "url": "/v1/chat/completions"}
    assert all(line == fixed | {"body": line["body"]} for line in lines)


@pytest.mark.parametrize(
    "name", [name for name, row in PROVIDERS.items() if name.endswith("a completion")]
)
def test_completion_of_a_provider_has_the_published_schema(name: str) -> None:
    read = ChatCompletion.model_validate(PROVIDERS[name].says, strict=True)
    assert read.choices[0].message.content == json.dumps(GENUINE) and read.usage is not None


def test_object_of_the_responses_api_has_the_published_schema() -> None:
    says = PROVIDERS["OpenAI: an object of the Responses API"].says
    left_out = {"created_at": 1, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    (message,) = [item | {"id": "msg_1"} for item in says["output"]]
    usage = says["usage"] | {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    read = Response.model_validate(says | left_out | {"output": [message], "usage": usage})
    assert read.output_text == json.dumps(GENUINE)
