"""Run one program in a sandbox of its own, by bubblewrap with an empty folder and one process.

It has no network, no environment, no files but Python's and the system's libraries (read-only),
can start neither processes nor threads, and is refused the system calls in `REFUSED`. All of it is
gone when the program has ended.
"""

import errno
import json
import os
import platform
import re
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from userturn.errors import UserError
from userturn.sandbox.inside import READY

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # `platform.machine()`, AUDIT_ARCH_…
REFUSED = {  # number on x86_64, on aarch64
    "add_key": (248, 217),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mount": (165, 40),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "perf_event_open": (298, 241),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "socket": (41, 198),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
OTHER_NUMBERS = 0x40000000  # from here on x86_64 has its calls again, for 32-bit pointers
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # BPF_LD_W_ABS, BPF_JEQ_K, …
NUMBER, ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000  # SECCOMP_RET_…


def _statements(machine: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield the code, both jumps (if true, if false) and the constant of each filter statement."""
    column = list(ARCHITECTURES).index(machine)
    numbers = [columns[column] for columns in REFUSED.values()]
    yield LOAD, 0, 0, ARCHITECTURE
    yield EQUAL, 1, 0, ARCHITECTURES[machine]
    yield RETURN, 0, 0, KILL
    yield LOAD, 0, 0, NUMBER
    yield AT_LEAST, len(numbers) + 1, 0, OTHER_NUMBERS
    for position, number in enumerate(numbers):
        yield EQUAL, len(numbers) - position, 0, number
    yield RETURN, 0, 0, ALLOW
    yield RETURN, 0, 0, REFUSE


def call_filter(machine: str) -> bytes | None:
    """Return the filter of system calls (struct sock_filter) for a machine, or None if unknown.

    A refused call fails with `EPERM`. A call of another architecture ends the program.
    """
    if machine not in ARCHITECTURES:
        return None
    return b"".join(struct.pack("=HBBI", *statement) for statement in _statements(machine))


WALL_SECONDS = 60  # for what sleeps: a busy machine must not make an answer wrong
MEMORY_BYTES = 1 << 30
FOLDER_BYTES = 16 << 20
INSIDE = Path(__file__).with_name("inside.py")
SYSTEM = ("/usr", "/bin", "/lib", "/lib64")
LIMITS = {
    "CPU": 10,  # seconds
    "AS": MEMORY_BYTES,
    "FSIZE": FOLDER_BYTES,
    "NPROC": 0,  # no further process or thread
    "NOFILE": 64,
    "CORE": 0,
}
ENDED_BY = {  # exit status of a program that a signal ended
    128 + signal.SIGXCPU: f"took more than {LIMITS['CPU']} s of CPU time",
    128 + signal.SIGKILL: "was killed",
    128 + signal.SIGSEGV: "crashed",
}
HOW_TO = (
    "install bubblewrap (Debian: `apt-get install bubblewrap`) and allow it user namespaces, or "
    "set `verifier: none` for the dataset"
)


class NoSandboxError(UserError):
    """A machine without a sandbox, on which a program has therefore not run."""


class Ending(NamedTuple):
    """The end of a program: whether its tests passed, and if not, the reason."""

    passed: bool
    reason: str | None = None


def _privileges() -> list[str]:
    """Return bubblewrap's options for the user: root drops its rights inside, others here."""
    if os.geteuid() == 0:
        return ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    return ["--unshare-user", "--uid", "65534", "--gid", "65534"]


def sandbox_command(calls: int) -> list[str]:
    """Return the command that runs `inside.py`, which reads a job, in a sandbox.

    `calls` is the descriptor of an open file with the filter of system calls.

    Raises:
        NoSandboxError: bubblewrap is not installed.
    """
    if shutil.which("bwrap") is None:
        raise NoSandboxError(
            "programs run only in a sandbox, whose command `bwrap` was not found; " + HOW_TO
        )
    command = ["bwrap", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    command += [*_privileges(), "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    command += ["--unshare-uts", "--unshare-cgroup-try", "--seccomp", str(calls)]
    for parent in reversed(Path(sys.base_prefix).parents[:-1]):  # else open to root alone
        command += ["--perms", "0755", "--dir", str(parent)]
    for folder in (*SYSTEM, sys.base_prefix):
        command += ["--ro-bind-try", folder, folder]
    command += ["--ro-bind", str(INSIDE), "/inside.py", "--dev-bind", "/dev/null", "/dev/null"]
    command += ["--perms", "0777", "--size", str(FOLDER_BYTES), "--tmpfs", "/work"]
    command += ["--remount-ro", "/", "--chdir", "/work", "--setenv", "PYTHONHASHSEED", "0"]
    python = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    return [*command, python, "-s", "-S", "-P", "-B", "-X", "utf8", "/inside.py"]


def _ending(output: str, token: str, status: int | None) -> Ending:
    if output == token:
        return Ending(True)
    if re.fullmatch("[A-Za-z]{1,40}", output):
        return Ending(False, f"its tests ended in {output}")
    if status is None:
        return Ending(False, f"took more than {WALL_SECONDS} s")
    return Ending(False, ENDED_BY.get(status, "ended before its tests did"))


def _refused_calls() -> bytes:
    """Return the filter of system calls for this machine."""
    calls = call_filter(platform.machine())
    if calls is None:
        raise NoSandboxError(
            f"programs run only in a sandbox, and this machine is {platform.machine()}; expected "
            f"one of {', '.join(ARCHITECTURES)}: set `verifier: none` for the "
            "dataset, or grade on another machine"
        )
    return calls


def _beginning(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(1000).decode("utf-8", "replace")


def run_program(program: str, tests: str) -> Ending:
    """Run a Python program and then its tests in one namespace.

    The tests pass if they end without an exception. A program that was written against this
    function could fake that, since its tests run in its process.

    Raises:
        NoSandboxError: there is no sandbox here, so the program has not run.
    """
    token = secrets.token_hex(16)
    job = {"program": program, "tests": tests, "token": token, "limits": LIMITS}
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as calls,
    ):
        calls.write(_refused_calls())
        calls.seek(0)
        try:
            status: int | None = subprocess.run(
                sandbox_command(calls.fileno()),
                input=json.dumps(job).encode(),
                stdout=output,
                stderr=errors,
                pass_fds=[calls.fileno()],
                timeout=WALL_SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
        why = _beginning(errors).strip().splitlines() or ["it ended"]
        if not why[-1].endswith(READY):
            raise NoSandboxError(f"the sandbox for programs did not start ({why[-1]}); {HOW_TO}")
        return _ending(_beginning(output), token, status)
