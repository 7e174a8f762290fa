"""A command says on a terminal alone that it is at work; an engine's own words go into a log."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from userturn.cli.busy_line import engine_log
from userturn.errors import UserError
from userturn.logs import say

NOISE = """
import os, subprocess, sys
from userturn.cli.busy_line import engine_log
from userturn.logs import say
with engine_log("try", "loading m"):
    print("from Python"); os.write(2, b"from C\\n"); subprocess.run(["echo", "from a child"])
    say("answers: 1/2 requests")
print("the result")
"""


def test_words_of_an_engine_are_in_the_named_log_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERTURN_CACHE", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", NOISE], capture_output=True, text=True, check=True)
    log = tmp_path / "logs" / "try.log"
    assert done.stdout == "the result\n"
    first, second = done.stderr.splitlines()
    assert first == f"loading m; what its engine prints: {log}"
    assert second == "answers: 1/2 requests"
    assert set(log.read_text().splitlines()) == {
        *("from Python", "from C", "from a child", "answers: 1/2 requests")
    }


def test_what_is_printed_comes_back_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("USERTURN_CACHE", str(tmp_path))
    with pytest.raises(UserError), engine_log("try", "loading m"):
        raise UserError("no memory")
    say("here")
    os.write(2, b"there\n")
    out, err = capfd.readouterr()
    assert (out, err.splitlines()[-1]) == ("here\n", "there")


def on_a_terminal(code: str) -> str:
    """Return what a Python program prints on a terminal."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-c", code])
    said = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the program has ended
            break
        if not part:
            break
        said += part
    os.waitpid(process, 0)
    return said.decode()


WORK = """
import time
from userturn.cli.busy_line import show_progress
with show_progress("audit", {after}):
    time.sleep(.5); print("a line")
print("the result")
"""


def test_a_terminal_shows_that_a_long_command_is_at_work_and_nothing_of_it_stays() -> None:
    said = on_a_terminal(WORK.format(after=0.1))
    assert "audit" in said and "a line\r\n" in said
    assert said.endswith("\x1b[2Kthe result\r\n")  # the line was cleared


def test_a_short_command_shows_nothing_of_its_work() -> None:
    assert on_a_terminal(WORK.format(after=60)) == "a line\r\nthe result\r\n"
