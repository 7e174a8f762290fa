"""What a verdict costs this machine: CPU-milliseconds and peak memory at growing numbers of turns.

Run from the project's root: `python benchmarks/judging.py [TURNS ...]`. A trivial server on
loopback answers at once; each number of turns is judged by a process of its own, journal and ledger
included.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.loopback import loopback
from userturn.config.load import load_config
from userturn.judges.judge import CellToJudge, Judge
from userturn.judges.kinds import complete_judges, kind_of

NUMBERS = (1_000, 10_000, 100_000)


def judge(n_turns: int, url: str) -> None:
    """Judge so many turns in this process and print what that took."""
    folder = Path(tempfile.mkdtemp())
    ids = [str(number) for number in range(n_turns)]
    turns = {
        "dataset": "d",
        "item": ids,
        "answer": "Toast the rice in a little oil, then steam it. " * 20,
        "outcome": "ok",
        "text": [f"How hot should the oil be for {i} people?" for i in ids],
        "error": None,
    }
    pl.DataFrame(turns).write_parquet(folder / "turns.parquet")
    asked = [[{"role": "user", "content": "How do I cook rice? " * 10}]] * n_turns
    pl.DataFrame({"item": ids, "messages": asked}).write_parquet(folder / "items.parquet")
    del turns, asked, ids
    config = load_config(["config.yaml"])
    settings = complete_judges(config)["gpt-5.4-mini"] | {"base_url": url}
    del settings["key_variable"]
    cell = CellToJudge(str(folder / "turns.parquet"), str(folder / "items.parquet"))
    prices = {"j": settings["price"]}
    before, began = time.process_time(), time.monotonic()
    peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    one = Judge("j", settings, folder, folder / "costs", prices, 1e6, 0.0)
    for _ in kind_of(settings).verdicts(one, cell, 32):
        pass  # no part is kept, as where verdicts are written
    cpu, wall = time.process_time() - before, time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{n_turns:>8,} verdicts: {cpu / n_turns * 1000:.2f} ms of CPU each, {wall:.1f} s, "
        f"peak {peak / 1024:.0f} MiB, {peak_before / 1024:.0f} of them before"
    )


def main() -> None:
    """Run every number in a process of its own."""
    if sys.argv[1:2] == ["--at"]:
        judge(int(sys.argv[3]), sys.argv[2])
        return
    with tempfile.TemporaryDirectory() as folder, loopback(Path(folder)) as server:
        for number in sys.argv[1:] or map(str, NUMBERS):
            command = [sys.executable, __file__, "--at", server.url, number]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
