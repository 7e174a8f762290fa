"""`userturn run` is stopped, refused, and takes any family; test_tutorial.py has its whole way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.slow import starting
from tests.support.tiny_architectures import write_architecture
from tests.support.tiny_model import write_tiny_model
from userturn.cli.main import main

QUESTIONS = "question,answer\nWhat is 1 and 1?,2\nWhat is 2 and 1?,3\nWhat is 9 times 8?,72\n"
COMMAND = [sys.executable, "-c", "import sys; from userturn.cli.main import main; sys.exit(main())"]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, output and errors together."""
    starting("userturn run")
    return subprocess.run(
        [*COMMAND, "run", *arguments],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "questions.csv").write_text(QUESTIONS)
    return tmp_path


@pytest.mark.slow
def test_an_interrupt_ends_in_one_sentence(folder: Path) -> None:
    write_tiny_model(folder / "tiny")
    command = [*COMMAND, "run", "./tiny", "--data", "questions.csv", "--folder", "study"]
    starting("userturn run")
    with subprocess.Popen(
        command,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as running:
        first = folder / "study" / "results" / "datasets" / "questions.parquet"
        while not first.exists() and running.poll() is None:
            time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)
        said, _ = running.communicate()
    assert running.returncode == 130, said
    assert said.splitlines()[-1] == "interrupted; the same command goes on where it stopped"
    assert "Traceback" not in said


TEN = {  # by the name of an architecture, the longest text that its checkpoint takes
    "llama 3.1": 8192,
    "qwen 3": 32768,
    "gemma 3 text": 8192,
    "mistral small 3": 32768,
    "olmo 2": 4096,
    "phi 4": 16384,
    "smollm 3": 2048,
    "granite 4": 4096,
    "hunyuan": 32768,
    "falcon h1": 2048,
}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_ten_families_need_no_word_of_configuration(name: str, folder: Path) -> None:
    model = write_architecture(name, folder / "model")
    config = json.loads((model / "config.json").read_text())
    of_text = config.get("text_config", config)
    of_text["max_position_embeddings"] = TEN[name]
    (model / "config.json").write_text(json.dumps(config))
    done = run(folder, "./model", "--data", "questions.csv", "--folder", "study")
    assert done.returncode == 0, done.stdout
    assert f"context {TEN[name]:,}" in done.stdout
    assert (folder / "study" / "results" / "report" / "index.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x/y", "--items", "0"], "--items: found 0, expected 1 or more"),
        (["x/y", "--judge", "heurstic"], "is not a judge of the study, did you mean 'heuristic'?"),
        (["x/y", "--judge", "gpt-5.4-mini"], "needs the environment variable OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_is_said_at_once(
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["run", *arguments]) == 1
    assert said in capsys.readouterr().err
