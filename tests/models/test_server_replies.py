"""What a server of text says is taken for a turn only if its counts and its text agree."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.completion_server import KEY, Fake, as_http, asked, requests
from tests.support.judge_server import judge_server
from userturn.models import served
from userturn.models.server_check import ServerCheck
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
    monkeypatch.setattr(served, "fields_of", lambda *_: 1 / 0)
    with judge_server(Fake(template)) as server, pytest.raises(ZeroDivisionError):
        asked(template, server, tmp_path, requests(template, 1))
