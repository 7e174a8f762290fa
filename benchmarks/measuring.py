"""What a command costs: CPU-seconds and memory of a process and all that it started."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

# A new process begins with the peak of the one that started it, so a small one starts it.
START = """
import json, os, sys
process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(process, 0)
found = [usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]
open(sys.argv[1], "w").write(json.dumps(found))
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Cost(NamedTuple):
    """What one run of a command took; `megabytes` is the most that one of its processes held."""

    cpu: float
    wall: float
    megabytes: float


def environment() -> dict[str, str]:
    """Return this process' environment, but with Python free to keep its bytecode.

    Without it every start compiles all that it imports anew: 4 CPU-seconds for Snakemake alone.
    """
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def cost_of(command: Sequence[str | Path], folder: Path, log: Path | None = None) -> Cost:
    """Run a command to its end in a folder and return its cost; its output goes to `log`.

    Raises:
        SystemExit: the command failed; its last lines are in the message.
    """
    log = log or folder / "command.log"
    usage = log.with_suffix(".usage.json")
    start = [sys.executable, "-I", "-S", "-c", START, str(usage)]
    with log.open("w") as output:
        began = time.monotonic()
        process = subprocess.run(
            [*start, *command], cwd=folder, env=environment(), stdout=output, stderr=output
        )
        wall = time.monotonic() - began
    if process.returncode:
        raise SystemExit(f"{command} failed:\n{log.read_text()[-2000:]}")
    cpu, megabytes = json.loads(usage.read_text())
    return Cost(cpu, wall, megabytes)
