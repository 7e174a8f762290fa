"""Measure every limit of benchmarks/README.md, and print its table with the commit.

From the project's folder: `python -m benchmarks [PROGRAM ...]`, all that have a limit if none is
named. It ends with 1 if a limit is passed. All of them take some ten minutes of one core.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.measuring import ROOT, environment

HEADER = """| what | limit | measured | at | by |
|---|---|---|---|---|"""


class Limit(NamedTuple):
    """What a benchmark may take.

    Attributes:
        what: it does.
        limits: the most of each number, with its unit.
        command: of the benchmark, in `benchmarks/`.
        pattern: finds lines of its output, with a group for each number.
    """

    what: str
    limits: Sequence[tuple[float, str]]
    command: Sequence[str]
    pattern: str


PLANNED = r" \| [\d,]+ \| ([\d.]+) \| (\d+)$"
LIMITS = (
    Limit(
        "dry run of 3,328 jobs",
        [(10, "CPU s"), (350, "MB")],
        ["planning.py", "--jobs", "3300", "--cells", "0"],
        f"^userturn{PLANNED}",
    ),
    Limit(
        "dry run of 1,050 finished cells",
        [(8, "CPU s"), (380, "MB")],
        ["planning.py", "--jobs", "--cells", "1050"],
        f"^finished, 1,050 cells{PLANNED}",
    ),
    Limit(
        "sweep of 200,000 requests",
        [(650, "MB")],
        ["sweeping.py", "--items", "100000"],
        r"^sweep: a request \|.*\| (\d+)$",
    ),
    Limit(
        "gathering 100,000 turns of 40 tokens",
        [(300, "MB")],
        ["sweeping.py", "--items", "100000"],
        r"^gathering: a request \|.*\| (\d+)$",
    ),
    Limit(
        "judging 100,000 turns by an endpoint",
        [(150, "MB")],
        ["judging.py"],
        r"^ *100,000 verdicts: .* peak (\d+) MiB",
    ),
    Limit(
        "requests sent twice after a kill, with 16 in flight",
        [(16, "requests")],
        ["interruption.py", "--items", "100"],
        r"^userturn \| [\d.]+ \| \d+% \| (\d+) \|",
    ),
    Limit(
        "contrasts of 825 cells of 1,000 turns",
        [(6, "CPU s"), (300, "MB")],
        ["analysing.py", "11"],
        r"^\| analyse \| 825 \| 825,000 \| ([\d.]+) \| (\d+) \|",
    ),
)


def measured(limit: Limit, output: str) -> tuple[float, ...]:
    """Return the most of each number of a limit in the output of its program.

    Raises:
        SystemExit: the program has not printed them.
    """
    rows = re.findall(limit.pattern, output, re.MULTILINE)
    if not rows:
        raise SystemExit(f"{' '.join(limit.command)} did not print '{limit.what}':\n{output}")
    found = [
        [float(number) for number in (row if isinstance(row, tuple) else [row])] for row in rows
    ]
    return tuple(map(max, zip(*found, strict=True)))


def row(limit: Limit, numbers: Sequence[float], commit: str) -> str:
    """Return the row of a limit; what is above it is bold."""
    most = ", ".join(f"{value:g} {unit}" for value, unit in limit.limits)
    said = [
        f"**{number:g} {unit}**" if number > value else f"{number:g} {unit}"
        for number, (value, unit) in zip(numbers, limit.limits, strict=True)
    ]
    return f"| {limit.what} | {most} | {', '.join(said)} | {commit} | `{limit.command[0]}` |"


def rows(limits: Sequence[Limit], commit: str) -> Iterator[str]:
    """Run the programs of some limits, each command once, and yield their rows."""
    outputs = dict[tuple[str, ...], str]()
    for limit in limits:
        program, *given = command = tuple(limit.command)
        if command not in outputs:
            asked = [sys.executable, f"benchmarks/{program}", *given]
            done = subprocess.run(
                asked, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=True
            )
            outputs[command] = done.stdout
        yield row(limit, measured(limit, outputs[command]), commit)


def commit_of_code() -> str:
    """Return the commit of the code, with a `+` where files have been changed since."""
    asked = ["git", "describe", "--always", "--abbrev=8", "--dirty=+", "--exclude=*"]
    return subprocess.check_output(asked, cwd=ROOT, text=True).strip()


def main(programs: Sequence[str]) -> int:
    """Print the table; return 1 if a limit is passed."""
    kept = [one for one in LIMITS if not programs or one.command[0].removesuffix(".py") in programs]
    print(HEADER, flush=True)
    passed = False
    for line in rows(kept, commit_of_code()):
        print(line, flush=True)
        passed |= "**" in line
    return int(passed)


if __name__ == "__main__":
    sys.exit(main([name.removesuffix(".py") for name in sys.argv[1:]]))
