"""How many requests are asked twice after SIGKILL, by userturn and by a plain script.

From the project's folder: `python benchmarks/interruption.py --items 200 --at 0.1 0.5 0.9`. Each
client is killed with all its children when the server on loopback has been asked that share of the
items, and run again to its end. Printed are all requests beyond one an item, and those of a third
run, which should need none. No more than the concurrency can be in flight when the kill comes.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.clients import CLIENTS, Client, Job, fresh, questions
from benchmarks.loopback import Server, loopback
from benchmarks.measuring import cost_of, environment

DELAY = 0.3  # seconds
CONCURRENCY = 16


def kill_at(command: list[str], folder: Path, server: Server, n: int) -> None:
    """Run a command until the server has been asked n times, then kill it and its children."""
    with (folder / "killed.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=log, stderr=log, start_new_session=True
        )
        while server.n_asked < n and process.poll() is None:
            time.sleep(0.01)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def repeated(name: str, job: Job, programs: dict[str, Client], share: float) -> tuple[int, int]:
    """Return the requests beyond one an item after a kill, and those of a third run."""
    n = len(job.questions)
    with loopback(fresh(job).folder, DELAY) as server:
        job = Job(job.folder, server.url, job.questions, CONCURRENCY, temperature=job.temperature)
        command = programs[name](job)
        kill_at(command, job.folder, server, round(share * n))
        cost_of(command, job.folder)
        second = server.n_asked
        cost_of(command, job.folder)
        return second - n, server.n_asked - second


def main(
    n: int, shares: list[float], temperatures: list[float], programs: dict[str, Client]
) -> None:
    """Print a row a client, temperature and moment of the kill."""
    print("client | temperature | killed at | repeated | third run")
    with tempfile.TemporaryDirectory() as folder:
        for name in programs:
            for temperature in temperatures:
                for share in shares:
                    job = Job(Path(folder) / name, "", questions(n), temperature=temperature)
                    again, third = repeated(name, job, programs, share)
                    print(f"{name} | {temperature:g} | {share:.0%} | {again} | {third}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--at", type=float, nargs="+", default=[0.1, 0.5, 0.9])
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0.0, 1.0])
    given = parser.parse_args()
    main(given.items, given.at, given.temperatures, CLIENTS)
