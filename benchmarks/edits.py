"""Probe every edit of a finished study, and write the table of docs/workflow.md.

python -m benchmarks.edits

Takes half an hour on 2 cores. Each probe is a test of tests/workflow/test_edits.py.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.edits import EDITS
from tests.support.probed_study import NOTED
from tests.support.snakemake_runs import ROOT

PAGE = ROOT / "docs" / "workflow.md"
TABLE = re.compile(r"(?<=<!-- edits -->\n).*?(?=<!-- end of edits -->)", re.DOTALL)
HEAD = (
    "| edit | requests that it needs | asked | sweep | questions to the judge | asked before |\n"
    "|---|---|---|---|---|---|\n"
)


def probed() -> list[dict[str, Any]]:
    """Run all probes, and return what each edit made a run do."""
    with TemporaryDirectory() as folder:
        notes = Path(folder, "outcomes.jsonl")
        tests = ["-n", "2", "-q", "-m", "slow", "tests/workflow/test_edits.py"]
        command = [sys.executable, "-m", "pytest", "--override-ini", "addopts=", *tests]
        subprocess.run(command, cwd=ROOT, env=os.environ | {NOTED: str(notes)})
        return [json.loads(line) for line in notes.read_text().splitlines()]


def table_of(outcomes: Iterable[Mapping[str, Any]]) -> str:
    """Return outcomes as a table in Markdown, in the order of the list of edits."""
    found = {outcome["edit"]: outcome for outcome in outcomes}
    rows = [_row(found[name]) for name in EDITS if name in found]
    return HEAD + "".join(rows)


def _row(outcome: Mapping[str, Any]) -> str:
    judged, again = outcome["judged"], outcome["judged_again"]
    asked = ("", "") if judged is None else (judged, again)
    sweep = "yes" if outcome["sweeps"] else "no"
    cells = [outcome["edit"], outcome["needed"], outcome["asked"], sweep, *asked]
    return f"| {' | '.join(map(str, cells))} |\n"


def write(outcomes: Iterable[Mapping[str, Any]], page: Path, commit: str) -> None:
    """Write the table of outcomes, with the commit that they are of, into a page."""
    made = f"{table_of(outcomes)}\nMade by `python -m benchmarks.edits` at {commit}.\n"
    text = page.read_text()
    assert TABLE.search(text), f"{page.name} has no place for the table"
    page.write_text(TABLE.sub(lambda _: made, text))


def main() -> None:
    """Write the table of docs/workflow.md."""
    said = ["git", "describe", "--always", "--dirty", "--abbrev=8"]
    commit = subprocess.run(said, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    write(probed(), PAGE, commit.strip())


if __name__ == "__main__":
    main()
