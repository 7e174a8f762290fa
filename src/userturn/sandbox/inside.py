"""The inside of the sandbox: run a program, then its tests, within limits that neither can raise.

A bare Python runs this file, so it imports only the standard library. It reads a job as JSON, and
writes READY to standard error, before any program runs. Then it writes one word to standard output:
the job's token if the tests ended, else the kind of exception.
"""

import json
import os
import resource
import sys
from collections.abc import Callable, Mapping
from typing import Any

READY = "ready"
NOBODY = 65534


def leave_root() -> None:
    """Become the user nobody, because the kernel does not limit root's number of processes."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def limit(limits: Mapping[str, int]) -> None:
    """Set resource limits for good, given by their names without `RLIMIT_`."""
    for name, most in limits.items():
        # A second more than the soft limit, whose signal tells that the time is over.
        hard = most + 1 if name == "CPU" else most
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, hard))


def only_channel() -> int:
    """Return the only way out as a descriptor, and lead the standard streams nowhere."""
    channel = os.dup(1)
    nowhere = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    return channel


def ending(program: str, tests: str, token: str) -> str:
    """Run a program, then its tests, and return the token, or the name of the exception."""
    names: dict[str, Any] = {"__name__": "program"}  # not __main__: no demonstration runs
    try:
        exec(compile(program, "program", "exec"), names)
        exec(compile(tests, "tests", "exec"), names)
    except BaseException as error:
        return type(error).__name__
    return token


def main(
    write: Callable[[int, bytes], int] = os.write, leave: Callable[[int], Any] = os._exit
) -> None:
    """Do the job on standard input, with `write` and `leave` bound before a program runs."""
    job = json.load(sys.stdin)
    write(2, READY.encode())
    channel = only_channel()
    leave_root()
    limit(job["limits"])
    write(channel, ending(job["program"], job["tests"], job["token"]).encode())
    leave(0)


if __name__ == "__main__":
    main()
