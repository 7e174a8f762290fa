"""Judges a cell in a process of its own, to be killed: folder of results, URL, hard cap or none."""

import os
import sys
from pathlib import Path

from tests.support.judged_cell import judge, verdicts_of
from userturn.judges.judge import CellToJudge

if __name__ == "__main__":
    results, url, cap, name = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4]
    folder = results / name
    cell = CellToJudge(str(folder / "user_turns.parquet"), str(folder / "items.parquet"))
    keyed = {"key_variable": "JUDGE_KEY"} if "JUDGE_KEY" in os.environ else {}
    verdicts_of(judge(results, url, cap=cap or None, **keyed), cell)
