"""No program harms anything, and all that it may try ends as failed, with a reason."""

import platform
import shutil
import signal
import struct
from pathlib import Path

import pytest

from userturn.sandbox import run
from userturn.sandbox.run import (
    ALLOW,
    ARCHITECTURES,
    KILL,
    REFUSE,
    REFUSED,
    Ending,
    NoSandboxError,
    call_filter,
    run_program,
)

needs_sandbox = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="bubblewrap is not installed: apt-get install bubblewrap"
)
PASSING = "x = 1"
TIME = run.ENDED_BY[128 + signal.SIGXCPU]
HOSTILE = {
    "forks": ("import os\nwhile True: os.fork()", "its tests ended in BlockingIOError"),
    "starts a thread": (
        "import threading\nthreading.Thread(target=print).start()",
        "its tests ended in RuntimeError",
    ),
    "takes all memory": ("x = bytearray(4 << 30)", "its tests ended in MemoryError"),
    "fills the disk": (
        "for i in range(10**6): open(str(i), 'wb').write(bytes(1 << 20))",
        "its tests ended in OSError",
    ),
    "ignores signals": (
        "import signal\n"
        "for s in set(range(1, 32)) - {9, 19}: signal.signal(s, signal.SIG_IGN)\n"
        "while True: pass",
        "was killed",
    ),
    "catches everything": ("while True:\n try: 1 / 0\n except BaseException: pass", TIME),
    "prints without end": ("while True: print('x' * 10000)", TIME),
    "becomes another program": (
        "import os\nos.execv('/bin/sh', ['sh', '-c', 'while :; do :; done'])",
        TIME,
    ),
    "reads the environment": (
        "import os\nassert 'HOME' in os.environ",
        "its tests ended in AssertionError",
    ),
    "reads accounts": ("open('/etc/passwd')", "its tests ended in FileNotFoundError"),
    "reads processes": ("open('/proc/1/environ')", "its tests ended in FileNotFoundError"),
    "reads this project": (
        f"open({str(Path(__file__))!r})",
        "its tests ended in FileNotFoundError",
    ),
    "writes outside": ("open('/usr/x', 'w')", "its tests ended in OSError"),
    "becomes root": (
        "import os\ntry: os.setuid(0)\nexcept OSError: raise KeyError",
        "its tests ended in KeyError",
    ),
    "raises its limits": (
        "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (9, 9))",
        "its tests ended in ValueError",
    ),
    "exits well": ("import sys\nsys.exit(0)", "its tests ended in SystemExit"),
    "exits at once": ("import os\nos._exit(0)", "ended before its tests did"),
    "says that it passed": (
        "import os\n[os.write(fd, b'0' * 32) for fd in (1, 3)]\nos._exit(0)",
        "ended before its tests did",
    ),
    "empties where its result goes": (
        "import os\nfor fd in range(64):\n"
        " try: os.lseek(fd, 0, 0), os.ftruncate(fd, 0)\n except OSError: pass\nos._exit(0)",
        "ended before its tests did",
    ),
    "closes everything": ("import os\nos.closerange(0, 64)", "ended before its tests did"),
    "keeps memory that no process has": (
        "import os\nos.memfd_create('x')",
        "its tests ended in PermissionError",
    ),
    "asks the host of a virtual machine": (
        "import socket\nsocket.socket(socket.AF_VSOCK)",
        "its tests ended in PermissionError",
    ),
    "kills itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "was killed"),
    "crashes": ("import ctypes\nctypes.string_at(0)", "crashed"),
    "never ends its recursion": ("def f(): f()\nf()", "its tests ended in RecursionError"),
    "is no program": ("def (", "its tests ended in SyntaxError"),
    "has half a character": ("x = '\ud800'", "its tests ended in UnicodeEncodeError"),
    "asks for input": ("input()", "its tests ended in EOFError"),
}


@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize("name", HOSTILE)
def test_what_a_program_must_not_do_ends_as_failed_with_a_reason(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(run.LIMITS, "CPU", 1)
    program, reason = HOSTILE[name]
    assert run_program(program, PASSING) == Ending(False, reason)


@needs_sandbox
def test_a_program_that_sleeps_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "WALL_SECONDS", 1)
    assert run_program("import time\ntime.sleep(99)", PASSING) == Ending(
        False, "took more than 1 s"
    )


@needs_sandbox
def test_a_program_has_no_network() -> None:
    connect = "import socket\nsocket.create_connection(('127.0.0.1', 9))"
    assert run_program(connect, PASSING) == Ending(False, "its tests ended in PermissionError")


@needs_sandbox
def test_a_program_passes_if_its_tests_end() -> None:
    assert run_program("def f(x): return x + 1", "assert f(1) == 2") == Ending(True)
    assert not run_program("def f(x): return x", "assert f(1) == 2").passed


@needs_sandbox
def test_files_of_one_program_are_not_seen_by_the_next() -> None:
    write = "open('left', 'w').write('x')"
    assert run_program(write, "assert open('left').read() == 'x'").passed
    assert not run_program("open('left')", PASSING).passed


@needs_sandbox
def test_hashes_are_equal_in_every_run() -> None:
    order = "x = ''.join({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})"
    seen = {
        guess
        for _ in range(3)
        for guess in (run_program(f"{order}\nraise type(x, (Exception,), {{}})", PASSING).reason,)
    }
    assert len(seen) == 1


def test_without_bubblewrap_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoSandboxError, match="command `bwrap` was not found; install bubblewrap"):
        run_program(PASSING, PASSING)


def test_on_a_machine_whose_calls_are_not_known_nothing_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(
        NoSandboxError,
        match="this machine is riscv64; expected one of x86_64, aarch64: set `verifier",
    ):
        run_program(PASSING, PASSING)


def test_a_sandbox_that_does_not_start_is_said_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(NoSandboxError, match=r"did not start \(bwrap: No permissions"):
        run_program(PASSING, PASSING)


def verdict(machine: str, architecture: int, number: int) -> int:
    """Return what the filter of a machine says of a call, read as the kernel's manual has it."""
    given, found, place = call_filter(machine) or b"", 0, 0
    program = [struct.unpack_from("=HBBI", given, at) for at in range(0, len(given), 8)]
    while True:
        code, if_true, if_false, constant = program[place]
        place += 1
        if code == 0x20:
            found = {0: number, 4: architecture}[constant]
        elif code == 0x06:
            return int(constant)
        else:
            holds = {0x15: found == constant, 0x35: found >= constant}[code]
            place += if_true if holds else if_false


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_refuses_the_calls_of_its_machine_alone(machine: str) -> None:
    here = ARCHITECTURES[machine]
    numbers = {found[list(ARCHITECTURES).index(machine)] for found in REFUSED.values()}
    refused = {n for n in range(600) if verdict(machine, here, n) == REFUSE}
    assert refused == numbers
    assert {verdict(machine, here, n) for n in set(range(600)) - numbers} == {ALLOW}
    assert verdict(machine, here, 0x40000000 + 1) == REFUSE
    assert verdict(machine, 0x40000003, 1) == KILL  # i386


def test_a_machine_whose_calls_are_not_known_has_no_filter() -> None:
    assert call_filter("riscv64") is None


@needs_sandbox
def test_a_program_is_refused_each_of_these_calls() -> None:
    column = list(ARCHITECTURES).index(platform.machine())
    numbers = [found[column] for found in REFUSED.values()]
    tests = (
        "import ctypes, errno\nc = ctypes.CDLL(None, use_errno=True)\n"
        f"for n in {numbers}:\n"
        "    assert c.syscall(n, 0, 0, 0, 0, 0, 0) == -1\n"
        "    assert ctypes.get_errno() == errno.EPERM"
    )
    assert run_program(PASSING, tests) == Ending(True)
