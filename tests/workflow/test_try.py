"""`userturn try` shows what one model makes of one question, and leaves nothing behind."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.completion_server import NAME, Fake
from tests.support.judge_server import Asked, http, judge_server
from tests.support.snakemake_runs import ROOT, copy_project
from tests.support.tiny_model import write_tiny_model
from userturn.cli.main import main
from userturn.prompts.load_template import load_template

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


def test_a_base_model_is_shown_a_transcript(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = project / "models" / "base"
    shutil.copytree(project / "models" / "tiny", base)
    (base / "chat_template.jinja").unlink()
    asked = [word.replace("tiny", "./models/base") for word in TRY]
    assert main(asked) == 1
    assert "data/templates/transcript.jinja for a base model" in capsys.readouterr().err
    assert main([*asked, "--chat-template", str(ROOT / "data/templates/transcript.jinja")]) == 0
    said = capsys.readouterr().out
    assert f"User: ⟧{QUESTION}⟦\n\nAssistant: ⟧{ANSWER}⟦\n\nUser:" in said
    assert "'\\nAssistant:', '\\nUser:'" in said
    shutil.rmtree(base)


def test_a_name_that_nobody_knows_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word.replace("tiny", "tinny") for word in TRY]) == 1
    said = capsys.readouterr().err
    assert "a model of the configuration, did you mean 'tiny'?" in said


def test_a_running_server_is_asked_by_token_ids(capsys: pytest.CaptureFixture[str]) -> None:
    entry: Any = {"enable_thinking": False}
    template = load_template(Path("models/tiny"), entry, "2026-04-02")
    with judge_server(Fake(template)) as server:
        assert main([*TRY, "--server", server.url, "--served-as", NAME]) == 0
        asked = [one.body for one in server.asked if one.body][-4:]
    assert sorted(body["temperature"] for body in asked) == [0.0, 1.0, 1.0, 1.0]
    assert all(body["return_token_ids"] and body["model"] == NAME for body in asked)
    assert len({body["seed"] for body in asked if body["temperature"]}) == 3
    assert "(ok, length; the heuristic judge: " in capsys.readouterr().out


def test_where_no_server_answers_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRY, "--server", "http://127.0.0.1:9/v1"]) == 1
    assert "no server answers at 'http://127.0.0.1:9/v1'" in capsys.readouterr().err


def test_a_chat_api_is_told_to_play_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    def answer(asked: Asked) -> bytes:
        said = {"finish_reason": "stop", "message": {"content": "How do you know?"}}
        return http(200, json.dumps({"choices": [said]}).encode()) if asked.body else http(404, b"")

    with judge_server(answer) as server:
        command = ["try", "any-name", QUESTION, "--answer", ANSWER, "--server", server.url]
        assert main([*command, "--api", "chat"]) == 0
        sent = server.asked[-1].body["messages"]
    roles = [message["role"] for message in sent]
    assert roles == ["user", "assistant", "user"] and sent[-1]["content"] == ANSWER
    assert "How do you know?" in capsys.readouterr().out
