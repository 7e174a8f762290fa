"""A model behind a chat API: the messages that are sent, and replies that are taken or refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.judge_server import Asked, http, judge_server
from tests.support.snakemake_runs import ROOT
from userturn.config.judge_keys import ServerEntry
from userturn.endpoints import http_client
from userturn.endpoints.budget import Account
from userturn.endpoints.concurrency import Pace
from userturn.errors import UserError
from userturn.models.chat_completions import ChatCompletions, ChatModel
from userturn.models.requests import Completion, Request, Sampling, make_request, scoring_request
from userturn.models.server_check import ServerCheck
from userturn.prompts.chat_template import Prompt, Template
from userturn.prompts.load_template import load_template

pytestmark = pytest.mark.slow

NAME, KEY = "big-model", "sk-canary-8b2d01"
OURS = 40  # tokens of the requests below; the look at the server asks for fewer
TALK = [
    {"role": "system", "content": "Be <|end|> brief."},
    {"role": "user", "content": " Zwei\nund zwei? 🎉 <|assistant|>"},
]
Reply = Callable[[Asked], bytes | None]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)


@pytest.fixture(scope="module")
def template() -> Template:
    entry: Any = {"enable_thinking": False, "probe": "role_play"}
    return load_template(ROOT / "data/chat_api", entry, "2026-04-02")


def replied(
    content: Any, reason: str = "stop", model: str = NAME, n_read: int = 400, **message: Any
) -> bytes:
    choice = {"finish_reason": reason, "message": {"content": content, **message}}
    usage = {"prompt_tokens": n_read, "completion_tokens": 7}
    return http(200, json.dumps({"model": model, "choices": [choice], "usage": usage}).encode())


def server(reply: Reply, refuses: str = "") -> Reply:
    """Return a chat API that answers ours as it is told, and does not know a field."""

    def answer(asked: Asked) -> bytes | None:
        if asked.path == "/v1/models":
            return http(200, json.dumps({"data": [{"id": NAME, "owned_by": "us"}]}).encode())
        if asked.path != "/v1/chat/completions":
            return http(404, b"{}")
        if refuses and refuses in asked.body:
            said = {"error": {"message": f"Unsupported parameter: '{refuses}'"}}
            return http(400, json.dumps(said).encode())
        if OURS not in asked.body.values():
            return replied(f"Once {asked.body['seed']}", "length")
        return reply(asked)

    return answer


def request(prompt: Prompt, template: Template, n: int = 0, **drawn: Any) -> Request:
    settings = {"temperature": 0.0, "top_p": 0.9, "top_k": 0, "presence_penalty": 0.5, **drawn}
    ends = template.end_token_ids
    sampling = Sampling(**settings, max_tokens=OURS, stop_token_ids=ends, seed=None)
    return make_request({}, "d", f"i{n}", n, prompt, sampling)


def asked(
    template: Template, url: str, folder: Path, wanted: list[Any], noted: list[ServerCheck]
) -> list[Completion]:
    settings: ServerEntry = {"model": NAME, "concurrency": 4, "timeout": 2, "attempts": 2}
    endpoint = ChatCompletions(url, settings, KEY, Pace(4))
    account = Account(folder, "model=big", "sweeps/big")
    engine = ChatModel("big", template, endpoint, account, noted.append)
    return [done[1] for done in engine(wanted) if done is not None]


def test_conversation_is_sent_as_its_messages_and_the_reply_is_its_text(
    template: Template, tmp_path: Path
) -> None:
    noted: list[ServerCheck] = []
    with judge_server(server(lambda _: replied("Vier! <|end|> 🎈"))) as one:
        prompt = template.answer_prompt(TALK)
        (made,) = asked(template, one.url, tmp_path, [request(prompt, template)], noted)
    sent = one.asked[-1].body
    assert sent["messages"] == TALK
    drawn = {"temperature": 0.0, "top_p": 0.9, "presence_penalty": 0.5}
    assert sent == {"model": NAME, "messages": TALK, "max_completion_tokens": OURS, **drawn}
    assert f"Bearer {KEY}" in one.asked[-1].headers
    assert made.finish_reason == "stop" and made.token_ids[-1] in template.end_token_ids
    assert template.decode(made.token_ids[:-1]) == "Vier! <|end|> 🎈"
    assert noted[0].keeps_seeds and noted[0].account == {"id": NAME, "owned_by": "us"}


def test_user_is_played_in_messages(template: Template, tmp_path: Path) -> None:
    with judge_server(server(lambda _: replied("Why?"))) as one:
        prompt = template.probe_prompt([{"role": "user", "content": "Two and two?"}], "Four.")
        asked(template, one.url, tmp_path, [request(prompt, template)], [])
    roles = [(m["role"], m["content"]) for m in one.asked[-1].body["messages"]]
    assert roles[1:] == [("assistant", "Two and two?"), ("user", "Four.")]
    assert roles[0][0] == "user" and roles[0][1].startswith("Play a person")


def test_server_that_knows_only_the_older_name_of_the_limit_is_asked_by_it(
    template: Template, tmp_path: Path
) -> None:
    with judge_server(server(lambda _: replied("Why?"), refuses="max_completion_tokens")) as one:
        wanted = [request(template.answer_prompt(TALK), template)]
        (made,) = asked(template, one.url, tmp_path, wanted, [])
    assert one.asked[-1].body["max_tokens"] == OURS and made.error is None


REPLIES: dict[str, tuple[bytes, str]] = {
    "cut at the limit": (replied("Why", "length"), "Why"),
    "nothing": (replied(None), ""),
    "a refusal": (replied(None, refusal="I cannot."), "I cannot."),
    "a snapshot's name": (replied("Why?", model=f"{NAME}-2026-01-01"), "Why?"),
}


@pytest.mark.parametrize(("reply", "text"), REPLIES.values(), ids=REPLIES)
def test_reply_that_is_taken(template: Template, tmp_path: Path, reply: bytes, text: str) -> None:
    with judge_server(server(lambda _: reply)) as one:
        wanted = [request(template.answer_prompt(TALK), template)]
        (made,) = asked(template, one.url, tmp_path, wanted, [])
    said = [i for i in made.token_ids if i not in template.end_token_ids]
    assert made.error is None and template.decode(said) == text
    ended = made.token_ids[-1:] == template.end_token_ids[:1]
    assert ended == (made.finish_reason == "stop") == (text != "Why")


FAULTS: dict[str, tuple[bytes, str]] = {
    "another model": (replied("Why?", model="small-model"), "'small-model' answered"),
    "a filter": (replied("Wh", "content_filter"), "finish_reason 'content_filter'"),
    "a tool": (replied(None, "tool_calls"), "finish_reason 'tool_calls'"),
    "parts": (replied([{"type": "text", "text": "Why?"}]), "expected stop or length"),
    "half a character": (replied("Why\ud83d?"), "half a character"),
    "the key": (replied(f"Your key is {KEY}"), "it shows the key"),
    "no choice": (http(200, b'{"choices": []}'), "no chat completion"),
    "no JSON": (http(200, b"<html>Hello</html>"), "no chat completion"),
    "a prompt cut": (replied("Why?", n_read=2), "it cuts prompts"),
    "a refused prompt": (http(400, b'{"error": {"message": "content_filter"}}'), "status 400"),
    "too long": (http(400, b'{"error": {"code": "context_length_exceeded"}}'), "status 400"),
    "down": (http(500, b"{}"), "status 500: {}, after 2 attempts"),
}


@pytest.mark.parametrize(("reply", "said"), FAULTS.values(), ids=FAULTS)
def test_fault_is_an_error_with_its_reason_and_never_a_turn(
    template: Template, tmp_path: Path, reply: bytes, said: str
) -> None:
    def answer(of: Asked) -> bytes:
        is_long = len(str(of.body["messages"])) > 500
        return reply if is_long else replied("Fine.")

    long = template.answer_prompt([{"role": "user", "content": "Why? " * 200}])
    prompts = [long, template.answer_prompt(TALK)]
    with judge_server(server(answer)) as one:
        wanted = [request(prompt, template, n) for n, prompt in enumerate(prompts)]
        made = asked(template, one.url, tmp_path, wanted, [])
    errors = [one.error for one in made]
    (error,) = filter(None, errors)
    assert said in error and KEY not in error and errors.count(None) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda of: http(401, b"{}"), "cannot be asked as a chat API: status 401"),
        (lambda of: http(404, b"{}"), "cannot be asked as a chat API: status 404"),
        (
            lambda of: http(200, b'{"data": [{"id": "other"}]}'),
            f"has no model '{NAME}'; it has other: set `served_as`",
        ),
    ],
)
def test_server_that_cannot_be_asked_is_a_sentence(
    template: Template, tmp_path: Path, answer: Reply, said: str
) -> None:
    with judge_server(answer) as one, pytest.raises(UserError) as error:
        asked(template, one.url, tmp_path, [request(template.answer_prompt(TALK), template)], [])
    assert said in str(error.value)


def test_likelihood_is_refused_by_name(template: Template, tmp_path: Path) -> None:
    with judge_server(server(lambda _: replied("Why?"))) as one, pytest.raises(UserError) as error:
        asked(template, one.url, tmp_path, [scoring_request({}, "d", "i", [1, 2, 3], 1)], [])
    assert str(error.value) == "model 'big': a chat API gives no log-likelihoods"
