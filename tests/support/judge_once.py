"""Judges a cell in a process of its own, to be killed."""

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.support.judged_cell import judge, verdicts_of
from userturn.endpoints import http_client, http_replies
from userturn.judges import batch_api
from userturn.judges.judge import CellToJudge

FORKS = multiprocessing.get_context("forkserver")  # each process has all modules from its start
FORKS.set_forkserver_preload(["tests.support.judge_once", "openai"])


def judge_once(results: Path, url: str, cell: str, key: str, by_batch: bool) -> None:
    """Judge a cell, with a key, and without long waits."""
    http_client.FIRST_WAIT = batch_api.FIRST_POLL = http_replies.LONGEST_RETRY_AFTER = 0.01
    os.environ["JUDGE_KEY"] = key
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    one = judge(results, url, key_variable="JUDGE_KEY", batch=by_batch)
    verdicts_of(one, cell_in(results, cell))


def cell_in(results: Path, cell: str) -> CellToJudge:
    """Return a cell that `judged_cell.cell` has written."""
    folder = results / cell
    return CellToJudge(str(folder / "user_turns.parquet"), str(folder / "items.parquet"))


def start(*arguments: object) -> BaseProcess:
    """Start a process that judges a cell; arguments as for `judge_once`."""
    job = FORKS.Process(target=judge_once, args=arguments)
    job.start()
    return job


if __name__ == "__main__":  # folder of results, URL, hard cap or 0, cell
    results, url, cap, name = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4]
    verdicts_of(judge(results, url, cap=cap or None), cell_in(results, name))
