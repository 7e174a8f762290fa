"""Prints the table of the probes: `python -m tests.support.probe_edits [NAME ...]`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.edits import EDITS, KNOWN, goes_on_to_judges
from tests.support.judge_server import judge_server
from tests.support.probed_study import make, probe

HEAD = (
    "| edit | requests needed | asked | sweeps planned | judge asked | asked again | |\n"
    "|---|---|---|---|---|---|---|"
)


def table(names: list[str], scratch: Path) -> Iterator[str]:
    """Yield the lines of the table, a line an edit."""
    yield HEAD
    with judge_server() as server:
        make(scratch / "original", server)
        for number, name in enumerate(names):
            copy, judges = scratch / str(number), goes_on_to_judges(name)
            found = probe(scratch / "original", copy, server, EDITS[name], judges)
            numbers = (found.needed, found.asked, found.sweeps, found.judged, found.judged_again)
            shown = " | ".join("" if n is None else str(n) for n in numbers)
            said = "" if found.is_right else KNOWN.get(name, "not right, and not known to be so")
            yield f"| {name} | {shown} | {said} |"


def main(names: list[str]) -> None:
    """Print the table."""
    with TemporaryDirectory() as scratch:
        for line in table(names or list(EDITS), Path(scratch)):
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
