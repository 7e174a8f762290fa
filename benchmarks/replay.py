"""Reading a journal of a million lines again: CPU and memory, of all keys and of a cell's.

From the project's folder: `python benchmarks/replay.py --lines 10000 100000 1000000`. A line is a
user turn of 40 tokens. The floor is `json.loads` of every line, which checks and keeps nothing.
Each number of lines is read by processes of their own.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measuring import ROOT, cost_of
from userturn.storage.journal import encode_line

KEYS_OF_A_CELL = 1319
IMPORTS = (
    "import json; import polars as pl; from userturn.storage.journal import read_journal; "
    "from userturn.storage.journal_table import find_outcomes, finished_keys, read_outcomes, "
    "read_places"
)
CELL = f"[f'{{i:064x}}' for i in range({KEYS_OF_A_CELL})]"
READERS = {
    "records, one by one": "read_journal(folder)",
    "table, all columns": "read_outcomes(folder)",
    "a cell's records, by their places": (
        f"keys = pl.Series({CELL}); read_places(find_outcomes(folder, keys), keys)"
    ),
    "which keys of a cell are finished": f"finished_keys(folder, pl.Series({CELL}))",
    "json.loads": "[None for line in open(folder + '/j.jsonl', 'rb') if json.loads(line) is None]",
}


def write_journal(folder: Path, n: int) -> None:
    """Write a journal with so many finished requests."""
    record = {
        "sample": 0,
        "outcome": "ok",
        "text": "How hot should the oil be for the rice, and for how long do I toast it?",
        "token_ids": list(range(1000, 1040)),
        "finish_reason": "stop",
        "error": None,
    }
    with (folder / "j.jsonl").open("wb") as file:
        for i in range(n):
            file.write(encode_line(record | {"key": f"{i:064x}", "item": f"item-{i}"}))


def main(numbers: list[int]) -> None:
    """Print a row a reader and number of lines."""
    print("reader | lines | CPU s | us a line | MB")
    for n in numbers:
        with tempfile.TemporaryDirectory() as folder:
            write_journal(Path(folder), n)
            for name, reader in READERS.items():
                code = f"{IMPORTS}; {folder=}; {reader}"
                cost = cost_of([sys.executable, "-c", code], ROOT, Path(folder) / "log")
                each = cost.cpu / n * 1e6
                row = f"{name} | {n:,} | {cost.cpu:.1f} | {each:.0f} | {cost.megabytes:.0f}"
                print(row, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    main(parser.parse_args().lines)
