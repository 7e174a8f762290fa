"""A confined command opens nothing but what it was let, reaches nobody, and takes no more."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from time import sleep
from zipfile import ZipFile

import pytest

from userturn.sandbox.confined import IN_SANDBOX, Reach, walls

needs_sandbox = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed: apt-get install bubblewrap"
)
USERTURN = Path(sys.executable).with_name("userturn")


@pytest.fixture
def inside(tmp_path: Path) -> list[str]:
    """The command that runs a Python program where `study` is readable and `out` is written."""
    for name in ("study", "scratch"):
        (tmp_path / name).mkdir()
    (tmp_path / "study" / "turn.txt").write_text("of the study")
    (tmp_path / "canary.txt").write_text("of the auditor")
    reach = Reach([tmp_path / "study"], tmp_path / "out")
    return [*walls(reach, tmp_path / "scratch"), sys.executable, "-c"]


def last_line(inside: list[str], program: str) -> str:
    """Run a program, and return what it printed, or the last line of its errors."""
    done = subprocess.run([*inside, program], text=True, capture_output=True)
    return (done.stdout or done.stderr).strip().splitlines()[-1]


@needs_sandbox
def test_files_of_the_study_are_read_and_the_canary_is_not_there(
    inside: list[str], tmp_path: Path
) -> None:
    turn, canary = tmp_path / "study" / "turn.txt", tmp_path / "canary.txt"
    assert last_line(inside, f"print(open({str(turn)!r}).read())") == "of the study"
    assert last_line(inside, f"open({str(canary)!r})").startswith("FileNotFoundError")


@needs_sandbox
def test_only_the_folder_of_results_and_the_temporary_one_are_written(
    inside: list[str], tmp_path: Path
) -> None:
    for name in ("out", "scratch"):
        last_line(inside, f"open({str(tmp_path / name / 'x')!r}, 'w'); print('written')")
        assert (tmp_path / name / "x").is_file()
    for place in (tmp_path / "study" / "x", Path("/usr/x"), tmp_path / "x"):
        said = last_line(inside, f"open({str(place)!r}, 'w')")
        assert "Read-only file system" in said and not place.exists()


@needs_sandbox
def test_a_server_of_this_machine_is_not_reached(inside: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        said = last_line(
            inside, f"import socket; socket.create_connection({listening.getsockname()})"
        )
        assert "Connection refused" in said


@needs_sandbox
@pytest.mark.slow
def test_audit_and_remake_run_in_the_sandbox_and_say_so(
    finished_study: Path, tmp_path: Path
) -> None:
    for command in ("audit", "remake"):
        told = subprocess.run(
            [USERTURN, command, finished_study / "results", "--to", tmp_path / command],
            cwd=tmp_path, text=True, capture_output=True,
        )  # fmt: skip
        assert told.returncode == 0 and told.stderr.endswith(f"{IN_SANDBOX}\n"), told


@needs_sandbox
@pytest.mark.slow
def test_pictures_without_memory_are_one_sentence(finished_study: Path, tmp_path: Path) -> None:
    audit = f"{USERTURN} audit {finished_study / 'results'} --to {tmp_path / 'out'}"
    told = subprocess.run(f"ulimit -v 6000000; {audit}", shell=True, text=True, capture_output=True)
    (sentence,) = told.stderr.splitlines()
    assert told.returncode == 2 and sentence.startswith("error: it was ended by SIG")


@needs_sandbox
@pytest.mark.slow
def test_an_interrupted_unpacking_leaves_a_sentence_and_no_file(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "a.zip", "w") as made, made.open("results/study.json", "w") as member:
        for _ in range(900):
            member.write(bytes(1 << 20))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    running = subprocess.Popen(
        [USERTURN, "audit", tmp_path / "a.zip", "--to", tmp_path / "out"],
        env=os.environ | {"TMPDIR": str(scratch)}, text=True, stderr=subprocess.PIPE,
    )  # fmt: skip
    while running.poll() is None and not [*scratch.rglob("study.json")]:
        sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate()
    assert (running.returncode, len(said.splitlines())) == (130, 1)
    assert [*scratch.iterdir()] == [] and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_without_bubblewrap_the_guard_stands_alone_and_is_named(
    finished_study: Path, tmp_path: Path
) -> None:
    told = subprocess.run(
        [USERTURN, "audit", finished_study / "results", "--to", tmp_path / "out"],
        env={"PATH": str(tmp_path)}, text=True, capture_output=True,
    )  # fmt: skip
    assert told.returncode == 0
    assert "no sandbox (there is no command `bwrap`): connections were refused" in told.stderr


def test_a_link_that_is_named_twice_is_made_once(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "there")
    command = walls(Reach([link, link, tmp_path / "there"], tmp_path / "out"), tmp_path)
    assert command.count("--symlink") == 1
