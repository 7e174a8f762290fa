"""`userturn try` shows what one model makes of one question, and leaves nothing behind."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.support.snakemake_runs import copy_project
from tests.support.tiny_model import write_tiny_model
from userturn.cli.main import main

pytestmark = pytest.mark.slow

QUESTION, ANSWER = "How tall is a giraffe?", "About five metres."
TRY = ["try", "tiny", QUESTION, "--answer", ANSWER, "--configfile", "study.yaml"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("try") / "project")
    write_tiny_model(folder / "models" / "tiny")
    return folder


@pytest.fixture(autouse=True)
def _inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def test_prompt_proofs_answer_and_user_turns_are_shown(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(project.rglob("*"))
    assert main(TRY) == 0
    said = capsys.readouterr().out
    assert "- a token ends a user turn" in said
    assert f"⟧{QUESTION}⟦" in said and f"⟧{ANSWER}⟦" in said
    assert f"answer:\n{ANSWER}\n" in said
    assert said.count("user turn at temperature 0 (") == 1
    assert said.count("user turn at temperature 1 (") == 3
    assert sorted(project.rglob("*")) == before


def test_without_an_answer_the_model_writes_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word for word in TRY if word not in ("--answer", ANSWER)]) == 0
    assert "\nanswer:\n" in capsys.readouterr().out


def test_a_folder_is_a_model_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word.replace("tiny", "./models/tiny") for word in TRY]) == 0
    assert "model: ./models/tiny" in capsys.readouterr().out


def test_a_name_that_nobody_knows_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word.replace("tiny", "tinny") for word in TRY]) == 1
    said = capsys.readouterr().err
    assert "a model of the configuration, did you mean 'tiny'?" in said


Reply = Callable[[dict[str, Any]], dict[str, Any]]


def echo(asked: dict[str, Any]) -> dict[str, Any]:
    return {"token_ids": asked["prompt"][:3], "prompt_token_ids": asked["prompt"]}


@contextmanager
def served(reply: Reply, asked: list[dict[str, Any]]) -> Iterator[str]:
    """Serve one model whose completions have the ids that `reply` gives."""

    class Handler(BaseHTTPRequestHandler):
        def _send(self, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": "it", "object": "model"}]})

        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            choice = {"index": 0, "text": "", "finish_reason": "length", **reply(asked[-1])}
            self._send({"id": "1", "object": "text_completion", "choices": [choice]})

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def test_a_running_server_is_asked_by_token_ids(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[dict[str, Any]] = []
    with served(echo, asked) as url:
        assert main([*TRY, "--server", url]) == 0
    assert [request["temperature"] for request in asked] == [0.0, 1.0, 1.0, 1.0]
    assert all(request["return_token_ids"] and request["model"] == "it" for request in asked)
    assert len({request["seed"] for request in asked[1:]}) == 3
    assert "3 tokens" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (lambda asked: {}, "the server returns no token ids"),
        (
            lambda asked: {"token_ids": [1], "prompt_token_ids": [0, *asked["prompt"]]},
            "the server reads the prompt as other tokens",
        ),
    ],
)
def test_a_server_that_does_not_read_the_prompt_as_it_is_is_refused(
    reply: Reply, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(reply, []) as url:
        assert main([*TRY, "--server", url]) == 1
    assert sentence in capsys.readouterr().err


def test_where_no_server_answers_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRY, "--server", "http://127.0.0.1:9/v1"]) == 1
    assert "no server answers at 'http://127.0.0.1:9/v1'" in capsys.readouterr().err
