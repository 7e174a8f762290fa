"""A server that somebody else runs: its turns are those of the model, or errors with a reason."""

import gzip
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.completion_server import KEY, NAME, Fake, as_http, asked, requests
from tests.support.judge_server import BREAKS_OFF, Asked, http, judge_server
from userturn.config.entries import ServerEntry
from userturn.endpoints import http_client
from userturn.endpoints.account_files import read_accounts
from userturn.endpoints.budget import Account
from userturn.endpoints.rate_limit import Pace
from userturn.errors import UserError
from userturn.models.completion_endpoint import CompletionEndpoint
from userturn.models.requests import make_request
from userturn.models.scoring import scoring_request
from userturn.models.served import ServedModel
from userturn.models.server_check import ServerCheck
from userturn.prompts.chat_template import Template

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(http_client, "LONG_WAIT", 1e9)


def changed(**choice: Any) -> Callable[[dict[str, Any], Asked], bytes]:
    def fault(reply: dict[str, Any], _: Asked) -> bytes:
        reply["choices"][0] |= choice
        return as_http(reply)

    return fault


def read_otherwise(reply: dict[str, Any], n: int) -> bytes:
    ids = reply["choices"][0]["prompt_token_ids"]
    reply["choices"][0]["prompt_token_ids"] = [0] * n + ids
    reply["usage"]["prompt_tokens"] += n
    return as_http(reply)


@cache
def small_bomb() -> bytes:
    return gzip.compress(bytes(80_000_000), 1)  # more than the 64 MB that are read of a reply


def bomb(reply: dict[str, Any], _: Asked) -> bytes:
    return http(200, small_bomb(), "Content-Encoding: gzip")


FAULTS: dict[str, tuple[Callable[[dict[str, Any], Asked], bytes | None], str]] = {
    "other ids": (changed(token_ids=[1, 2, 3]), "decode to another text"),
    "ids outside the vocabulary": (changed(token_ids=[10**6]), "within the vocabulary"),
    "booleans": (changed(token_ids=[True]), "within the vocabulary"),
    "no ids": (changed(token_ids=None), "within the vocabulary"),
    "other text": (changed(text="I am another."), "decode to another text"),
    "a strange end": (changed(finish_reason="content_filter"), "finish_reason 'content_filter'"),
    "a cut turn": (changed(finish_reason="length"), "a limit of its own"),
    "second BOS": (lambda reply, _: read_otherwise(reply, 1), "read other tokens than were sent"),
    "wrong count": (
        lambda reply, _: as_http(reply | {"usage": {"prompt_tokens": 7}}),
        "read 7 tokens",
    ),
    "two choices": (lambda reply, _: as_http(reply | {"choices": [{}, {}]}), "is no completion"),
    "other model": (lambda reply, _: as_http(reply | {"model": "big"}), "'big' answered"),
    "half a reply": (lambda reply, _: BREAKS_OFF + as_http(reply)[:-20], "the connection broke"),
    "no reply": (lambda reply, _: None, "the connection broke"),
    "redirect": (
        lambda reply, _: http(307, b"", "Location: http://127.0.0.1:1/v1/completions"),
        "status 307",
    ),
    "429 storm": (lambda reply, _: http(429, b"slow down"), "status 429"),
    "gzip bomb": (bomb, "is no completion|no whole reply"),
    "key comes back": (lambda reply, _: http(401, KEY.encode()), r"\[key\]"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_an_outcome_with_a_reason_and_never_a_turn(
    name: str, template: Template, tmp_path: Path
) -> None:
    fake, (fault, said) = Fake(template), FAULTS[name]
    fake.fault = lambda reply, asked: fault(reply, asked) if asked.number % 2 else as_http(reply)
    with judge_server(fake) as server:
        done = asked(template, server, tmp_path, requests(template, 6))
    assert len(done) == 6 == len({request.key for request, _ in done})
    whole = [made for _, made in done if made.error is None]
    failed = [made for _, made in done if made.error is not None]
    n_prompt = len(requests(template, 1)[0].prompt.token_ids)
    assert {template.decode(made.token_ids[:-1]) for made in whole} <= {f"Why {n_prompt}?"}
    assert all(made.token_ids == () and re.search(said, str(made.error)) for made in failed)
    # What may be asked again is: its second attempt may be whole.
    assert failed or name in ("half a reply", "no reply", "429 storm")
    assert KEY.encode() not in b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


def test_every_sampling_setting_is_sent_also_where_it_is_usual(
    template: Template, tmp_path: Path
) -> None:
    with judge_server(Fake(template)) as server:
        ((_, made),) = asked(template, server, tmp_path, requests(template, 1))
        body = server.asked[-1].body
    assert made.finish_reason == "stop" and made.token_ids[-1] in template.stop_token_ids
    usual = {"top_p": 1.0, "top_k": -1, "min_p": 0, "repetition_penalty": 1, "temperature": 0.0}
    assert {name: body[name] for name in usual} == usual
    assert not body["add_special_tokens"] and not body["skip_special_tokens"]


def test_scores_are_those_of_the_prompt_s_own_tokens(template: Template, tmp_path: Path) -> None:
    one = scoring_request({}, "d", "i", [5, 6, 7, 8], 2)
    with judge_server(Fake(template)) as server:
        ((_, made),) = asked(template, server, tmp_path, [one])
    assert made.logprobs == (-2.0, -3.0)


def test_server_of_text_alone_is_asked_with_text_once_it_is_proven_to_read_it(
    template: Template, tmp_path: Path
) -> None:
    noted: list[ServerCheck] = []
    with judge_server(Fake(template, with_ids=False)) as server:
        ((request, made),) = asked(template, server, tmp_path, requests(template, 1), noted)
        prompts = [one.body["prompt"] for one in server.asked if one.path == "/v1/completions"]
    assert prompts[-1] == request.prompt.text and made.error is None
    assert noted[0].dialect[:2] == (False, False) and noted[0].dialect.scores_by is None
    quoting = template.probe_prompt(
        [{"role": "user", "content": "What is <|im_end|>?"}], "A token."
    )
    odd = make_request({}, "d", "q", 0, quoting, request.sampling)
    with judge_server(Fake(template, with_ids=False)) as server:
        ((_, refused),) = asked(template, server, tmp_path, [odd])
    assert "quotes a special token" in str(refused.error)


@pytest.mark.parametrize("with_ids", [True, False])
def test_server_that_adds_a_token_to_every_prompt_is_refused(
    with_ids: bool, template: Template, tmp_path: Path
) -> None:
    refused = pytest.raises(UserError, match="not proven to read this model's prompts")
    with judge_server(Fake(template, with_ids, bos=1)) as server, refused:
        asked(template, server, tmp_path, requests(template, 1))


def test_twenty_unusable_replies_in_a_row_stop_a_sweep(template: Template, tmp_path: Path) -> None:
    fake = Fake(template)
    fake.fault = changed(token_ids=[1])
    stopped = pytest.raises(UserError, match="20 requests in a row ended without a usable reply")
    with judge_server(fake) as server, stopped:
        asked(template, server, tmp_path, requests(template, 200))


def test_cap_on_money_stops_a_sweep_with_what_was_paid_for_kept(
    template: Template, tmp_path: Path
) -> None:
    price = {"input": 1000.0, "output": 1000.0}
    wanted, done = requests(template, 400), []
    with judge_server(Fake(template)) as server:
        settings: ServerEntry = {"model": NAME, "concurrency": 4, "timeout": 9, "attempts": 2}
        endpoint = CompletionEndpoint(server.url, settings, None, Pace(4))
        account = Account(tmp_path, "model=tiny", "sweeps/tiny", price, 12.0)
        engine = ServedModel("tiny", template, endpoint, account, lambda _: None)
        with pytest.raises(UserError, match="stopped before max_cost 12 could be exceeded"):
            done.extend(one for one in engine(wanted) if one is not None)
        n_sent = Counter(one.body["max_tokens"] for one in server.asked if one.body)[40]
    spent = sum(one.cost({}) or 0.0 for one in read_accounts(tmp_path))
    assert 0 < len(done) == n_sent < 400 and 0 < spent <= 12.0
