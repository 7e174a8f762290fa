"""A server's own list says which model it has, and why it cannot be told."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from userturn.errors import UserError
from userturn.models.server_models import ServerModel, model_of_server

Listing = Callable[[Any], str]


@pytest.fixture
def server() -> Iterator[Listing]:
    """Return a function that starts a server on loopback with a list of models."""
    started = []

    def start(told: Any) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                assert self.path == "/v1/models"
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(told).encode())

            def log_message(self, *_: Any) -> None:
                pass

        running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=running.serve_forever, daemon=True).start()
        started.append(running)
        return f"http://127.0.0.1:{running.server_address[1]}/v1"

    yield start
    for one in started:
        one.shutdown()
        one.server_close()


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


TWO = {"data": [{"id": "small", "root": "org/small", "max_model_len": 2048}, {"id": "large"}]}


def test_the_only_model_needs_no_name(server: Listing) -> None:
    url = server({"data": TWO["data"][:1]})
    assert model_of_server(url, None) == ServerModel("small", "org/small", 2048, None)


def test_one_of_several_is_taken_by_its_name(server: Listing) -> None:
    assert model_of_server(server(TWO), "large") == ServerModel("large", None, None, None)


@pytest.mark.parametrize(
    ("told", "name", "said"),
    [
        (TWO, None, r"has 2 models \(large, small\); expected one, or its name by --served-as"),
        (TWO, "smal", "has no model 'smal', did you mean 'small'"),
        ({"data": []}, None, "has 0 models"),
        (["other"], None, "did not tell its models"),
    ],
)
def test_what_cannot_be_told_is_said(
    told: Any, name: str | None, said: str, server: Listing
) -> None:
    with pytest.raises(UserError, match=said):
        model_of_server(server(told), name)


def test_a_server_that_does_not_run_is_named() -> None:
    with pytest.raises(UserError, match=r"'http://127.0.0.1:9/v1/models' \(.*refused"):
        model_of_server("http://127.0.0.1:9/v1", None)
