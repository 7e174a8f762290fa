"""Probe every edit of a finished study; write benchmarks/edits.md and a part of docs/workflow.md.

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

PAGE = ROOT / "benchmarks" / "edits.md"
EXCERPT = ROOT / "docs" / "workflow.md"
SHOWN = (  # in the excerpt
    "nothing",
    "`limit` 4 to 3 and back",
    "question of a row with an id edited",
    "a row more",
    "`samples` 2 to 3",
    "a temperature more",
    "a perturbation more",
    "`user_turn.max_tokens` changed",
    "weights changed",
    "dataset renamed",
    "only the journal kept",
    "judge's setting changed",
)
TABLE = re.compile(r"(?<=<!-- edits -->\n).*?(?=<!-- end of edits -->)", re.DOTALL)
HEAD = (
    "| edit | requests needed | sent | sweep | questions to the judge | of these, sent before |\n"
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
    by_name = {outcome["edit"]: outcome for outcome in outcomes}
    rows = [_row(by_name[name]) for name in EDITS if name in by_name]
    return HEAD + "".join(rows)


def excerpt_of(outcomes: Iterable[Mapping[str, Any]]) -> str:
    """Return what the edits of `SHOWN` made a run send, as a table in Markdown."""
    by_name = {outcome["edit"]: outcome for outcome in outcomes}
    rows = [
        (name, by_name[name]["asked"], by_name[name]["judged"]) for name in SHOWN if name in by_name
    ]
    head = "| edit | requests sent | questions to the judge (–: not counted) |\n|---|---|---|\n"
    return head + "".join(
        f"| {name} | {n} | {'–' if judged is None else judged} |\n" for name, n, judged in rows
    )


def _row(outcome: Mapping[str, Any]) -> str:
    judged, again = outcome["judged"], outcome["judged_again"]
    asked = ("", "") if judged is None else (judged, again)
    sweep = "yes" if outcome["sweeps"] else "no"
    cells = [outcome["edit"], outcome["needed"], outcome["asked"], sweep, *asked]
    return f"| {' | '.join(map(str, cells))} |\n"


def write(table: str, page: Path, commit: str) -> None:
    """Write a table, with the commit that it is of, between a page's two marks."""
    made = f"{table}\nMade by `python -m benchmarks.edits` at {commit}.\n"
    text = page.read_text()
    assert TABLE.search(text), f"{page.name} has no place for the table"
    page.write_text(TABLE.sub(lambda _: made, text))


def main() -> None:
    """Write the tables of both pages."""
    said = ["git", "describe", "--always", "--dirty", "--abbrev=8"]
    commit = subprocess.run(said, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    outcomes = probed()
    write(table_of(outcomes), PAGE, commit.strip())
    write(excerpt_of(outcomes), EXCERPT, commit.strip())


if __name__ == "__main__":
    main()
