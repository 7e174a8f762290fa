"""Is an old result taken for a new one? Requests of a second run after a change, by each client.

From the project's folder: `python benchmarks/staleness.py --items 20`. Each client finishes a run,
then something changes and the same command runs again in the same folder. Right is: one request for
one edited prompt, one an item for another model, temperature or rubric (the text before each item).
A refusal to go on is right as well, and said.
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.clients import Client, Job, add_options, fresh, prepared
from benchmarks.loopback import loopback
from benchmarks.measuring import cost_of
from benchmarks.rivals import questions

PROBES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "one prompt": {},
    "model": {"model": "another"},
    "temperature": {"temperature": 0.5},
    "rubric": {"rubric": "Answer in one word."},
}


def changed(job: Job, probe: str) -> tuple[Job, int]:
    """Return the job after a change, and how many requests it should need."""
    if probe == "one prompt":
        edited = ("Think first. " + job.questions[0], *job.questions[1:])
        return replace(job, questions=edited), 1
    return replace(job, **PROBES[probe]), len(job.questions) if PROBES[probe] else 0


def verdict(name: str, folder: Path, n: int, probe: str, programs: dict[str, Client]) -> str:
    """Return what a client did after a change, in words."""
    job = fresh(Job(folder / name, "", questions(n)))
    with loopback(job.folder) as server:
        job = replace(job, url=server.url)
        cost_of(programs[name](job), job.folder)
        before = server.n_asked
        job, expected = changed(job, probe)
        try:
            cost_of(programs[name](job), job.folder)
        except SystemExit:
            return "refused"
        asked = server.n_asked - before
    word = "right" if asked == expected else "STALE" if asked < expected else "too many"
    return f"{asked} of {expected}, {word}"


def main(n: int, programs: dict[str, Client]) -> None:
    """Print a row a client, a column a probe."""
    print("client | " + " | ".join(PROBES))
    with tempfile.TemporaryDirectory() as folder:
        for name in programs:
            found = [verdict(name, Path(folder), n, probe, programs) for probe in PROBES]
            print(f"{name} | " + " | ".join(found), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20)
    given = add_options(parser).parse_args()
    with prepared(given) as programs:
        main(given.items, programs)
