"""Snakemake, imported once: each run is a fork of a process that waits for what to run.

The imports take most of a dry run. Else a fork is what the command `snakemake` is: a process with
arguments, a working folder and an environment of its own, which starts jobs as it does. Only what
Python looks at when it starts, such as PYTHONPATH, is of no effect but for the jobs.
"""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

PROGRAM = str(Path(sys.executable).with_name("snakemake"))


@cache
def _waiting() -> subprocess.Popen[str]:
    """Start the process that is forked; it ends with this one."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-P", __file__], text=True, **pipes)
    atexit.register(process.communicate)
    return process


def run_warm(
    arguments: list[str], folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in a folder; output is captured, stderr included.

    Args:
        arguments: after the command's name.
        folder: in which it runs.
        environment: all variables that it gets; by default those of this process.
    """
    process = _waiting()
    assert process.stdin is not None and process.stdout is not None
    with NamedTemporaryFile("r+") as output:
        told = [arguments, str(folder), dict(environment or os.environ), output.name]
        process.stdin.write(json.dumps(told) + "\n")
        process.stdin.flush()
        code = int(process.stdout.readline())
        return subprocess.CompletedProcess([PROGRAM, *arguments], code, output.read())


def _become(arguments: list[str], folder: str, environment: dict[str, str], output: str) -> None:
    """Make this process what a shell would have started."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for path, *streams in ((os.devnull, 0), (output, 1, 2)):
        opened = os.open(path, os.O_RDWR)
        for stream in streams:
            os.dup2(opened, stream)
        os.close(opened)
    sys.argv[:] = [PROGRAM, *arguments]  # in place: a default is this very list


def _wait() -> None:
    """Fork for each line of the standard input, and answer with the exit code."""
    from snakemake.cli import main
    from snakemake.workflow import Workflow

    import userturn.workflow.startup  # noqa: F401  what the Snakefile imports

    for line in sys.stdin:
        if (child := os.fork()) == 0:
            _become(*json.loads(line))
            Workflow._rundir = str(Path.cwd())  # noted at the import
            sys.exit(main())
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _wait()
