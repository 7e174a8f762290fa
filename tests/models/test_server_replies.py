"""What a server of text says is taken for a turn only if its counts and its text agree."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.completion_server import KEY, Fake, as_http, asked, requests
from tests.support.judge_server import judge_server
from userturn.models import server_replies
from userturn.models.completion_endpoint import Dialect, ServerReply
from userturn.models.requests import scoring_request
from userturn.models.server_check import ServerCheck
from userturn.models.server_replies import ReplyError, scores_in
from userturn.prompts.chat_template import Template

pytestmark = pytest.mark.slow


# What the reply's choice, its usage or the reply itself has, and what the error says.
FAULTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "half a character": ("choice", {"text": "Why \ud83d"}, "half a character"),
    "a count in words": ("usage", {"completion_tokens": "8"}, "expected a number of tokens"),
    "a list of counts": ("usage", {"completion_tokens": [8]}, "expected a number of tokens"),
    "a count below 0": ("usage", {"completion_tokens": -8}, "expected a number of tokens"),
    "no text": ("choice", {"text": ""}, "text has 0 tokens"),
    "another text": ("choice", {"text": "Why " * 30}, "the server says it wrote 8"),
    "key in the text": ("choice", {"text": f"Why {KEY}?"}, "it shows the key"),
    "key as the end": ("choice", {"finish_reason": KEY}, r"finish_reason '\[key\]'"),
    "key as the model": ("reply", {"model": f"big-{KEY}"}, r"'big-\[key\]' answered"),
    "an endless end": ("choice", {"finish_reason": "x" * 10**5}, "xxx\\[…\\]$"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_in_a_text_is_an_error_without_the_key_and_loses_no_request(
    name: str, template: Template, tmp_path: Path
) -> None:
    place, change, said = FAULTS[name]
    fake = Fake(template, with_ids=False)

    def fault(reply: dict[str, Any], _: Any) -> bytes:
        {"reply": reply, "choice": reply["choices"][0], "usage": reply["usage"]}[place].update(
            change
        )
        return as_http(reply)

    fake.fault = fault
    with judge_server(fake) as server:
        done = asked(template, server, tmp_path, requests(template, 2))
    assert len(done) == 2
    for _, made in done:
        assert made.token_ids == () and KEY not in str(made.error)
        with pytest.raises(ValueError, match=said):
            raise ValueError(made.error)


def test_text_that_begins_with_the_prompt_is_no_turn(template: Template, tmp_path: Path) -> None:
    fake = Fake(template, with_ids=False)

    def echo(reply: dict[str, Any], one: Any) -> bytes:
        reply["choices"][0]["text"] = one.body["prompt"] + reply["choices"][0]["text"]
        return as_http(reply)

    fake.fault = echo
    with judge_server(fake) as server:
        ((_, made),) = asked(template, server, tmp_path, requests(template, 1))
    assert "the text has 112 tokens, and the server says it wrote 8" in str(made.error)


def test_ids_in_logprobs_are_a_turn_up_to_its_end_and_hidden_tokens_are_no_other_text(
    template: Template, tmp_path: Path
) -> None:
    noted: list[ServerCheck] = []
    with judge_server(Fake(template, is_llama=True)) as server:
        ((request, made),) = asked(template, server, tmp_path, requests(template, 1), noted)
    assert (noted[0].dialect.takes_ids, noted[0].dialect.ids_by) == (True, "logprobs")
    assert made.error is None and made.finish_reason == "stop"
    said = template.encoder.encode_whole(f"Why {len(request.prompt.token_ids)}?")
    assert made.token_ids == (*said, template.stop_token_ids[0])


def test_fault_of_ours_stops_the_sweep_and_loses_no_request_in_silence(
    template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_replies, "fields_of", lambda *_: 1 / 0)
    with judge_server(Fake(template)) as server, pytest.raises(ZeroDivisionError):
        asked(template, server, tmp_path, requests(template, 1))


def by_token(score: Any, ids: Sequence[int] = (6, 7, 8)) -> list[Any]:
    """Return scores in vLLM's form; the first token of a text has none."""
    return [None, *({str(i): {"logprob": score}} for i in ids)]


# What is in place of the scores of the tokens 5, 6, 7, 8, of which those of 7 and 8 are asked for.
NO_SCORES = {
    "none": {"prompt_logprobs": None},
    "too few": {"prompt_logprobs": by_token(-1.0, (6, 7))},
    "of other tokens": {"prompt_logprobs": by_token(-1.0, (7, 8, 9))},
    "numbers alone": {"prompt_logprobs": [None, -1.0, -1.0, -1.0]},
    "by name": {"prompt_logprobs": {"5": 0, "6": 0, "7": 0, "8": 0}},
    "text": {"prompt_logprobs": by_token("-1")},
    "booleans": {"prompt_logprobs": by_token(False)},
    "not a number": {"prompt_logprobs": by_token(float("nan"))},
    "impossible": {"prompt_logprobs": by_token(float("-inf"))},
    "more than certain": {"prompt_logprobs": by_token(0.5)},
    "no echo": {"logprobs": None},
    "an echo of less": {"logprobs": {"token_logprobs": [None, -1.0, -1.0]}},
    "an echo of more": {"logprobs": {"token_logprobs": [None, *[-1.0] * 5]}},
    "an echo that is a number": {"logprobs": {"token_logprobs": 4}},
}


@pytest.mark.parametrize("name", NO_SCORES)
@pytest.mark.parametrize("usage", [{"prompt_tokens": 4}, {}])
def test_scores_that_are_not_those_of_the_tokens_are_refused(
    name: str, usage: dict[str, Any]
) -> None:
    request = scoring_request({}, "d", "i", [5, 6, 7, 8], 2)
    by = "prompt_logprobs" if "prompt_logprobs" in NO_SCORES[name] else "echo"
    reply = ServerReply(None, NO_SCORES[name], usage)
    with pytest.raises(ReplyError):
        scores_in(request, reply, Dialect(True, True, True, scores_by=by))


@pytest.mark.parametrize("n_more", [0, 1])
def test_echoed_scores_are_those_of_the_prompt_whether_or_not_it_is_counted(n_more: int) -> None:
    request = scoring_request({}, "d", "i", [5, 6, 7, 8], 2)
    echoed = {"logprobs": {"token_logprobs": [None, -1.0, -2.0, -3.0, -9.0][: 4 + n_more]}}
    way = Dialect(True, True, True, scores_by="echo")
    assert scores_in(request, ServerReply(None, echoed, {}), way).logprobs == (-2.0, -3.0)
