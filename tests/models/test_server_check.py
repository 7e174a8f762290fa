"""What is found out about a server before the first request of a sweep."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.completion_server import KEY, NAME, Fake, asked, requests
from tests.support.judge_server import Asked, http, judge_server
from userturn.endpoints import http_client
from userturn.errors import UserError
from userturn.models.server_check import ServerCheck
from userturn.prompts.chat_template import Template

pytestmark = pytest.mark.slow


def test_account_of_a_server_has_no_key_and_may_be_of_any_form(
    template: Template, tmp_path: Path
) -> None:
    told = {"id": NAME, "owned_by": "x" * 195 + KEY, "version": f"1 \ud83d {KEY}"}
    for listed, expected in [
        (
            {"data": [told]},
            {"id": NAME, "owned_by": "x" * 195 + "[key]", "version": "1 \ufffd [key]"},
        ),
        ({"data": 5}, {}),
        ([5], {}),
    ]:
        fake, noted = Fake(template), list[ServerCheck]()

        def answer(one: Asked, fake: Fake = fake, listed: Any = listed) -> bytes | None:
            whole = http(200, json.dumps(listed).encode())
            return whole if one.path == "/v1/models" else fake(one)

        with judge_server(answer) as server:
            asked(template, server, tmp_path, requests(template, 1), noted)
        assert noted[0].account == expected


@pytest.mark.parametrize("status", [429, 503])
def test_busy_server_is_not_asked_in_a_worse_way(
    status: int, template: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "FIRST_WAIT", 0.01)
    fake = Fake(template)

    def answer(one: Asked) -> bytes | None:
        takes_ids = one.path == "/v1/completions" and isinstance(one.body["prompt"], list)
        return http(status, b"later") if takes_ids else fake(one)

    stopped = pytest.raises(UserError, match=f"cannot be used: status {status}: later, after 2")
    with judge_server(answer) as server, stopped:
        asked(template, server, tmp_path, requests(template, 1))
