"""What an item costs ours, a plain script, lm-evaluation-harness and Inspect.

From the project's folder: `python benchmarks/rivals.py --items 2000 --concurrency 64`. All ask the
same server on loopback, which answers after 50 ms; each run is a process of its own. Printed are
CPU-seconds and wall seconds of few items and of many, the CPU-milliseconds of one item more, and
the most memory. The rivals are installed from PyPI, by `uv`, into a folder that is removed again.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.clients import Client, Job, add_options, fresh, prepared
from benchmarks.loopback import loopback
from benchmarks.measuring import Cost, cost_of

FEW = 10
DELAY = 0.05  # seconds


def questions(n: int) -> tuple[str, ...]:
    """Return so many different questions."""
    return tuple(f"How hot should the oil be for {number} people?" for number in range(n))


def cost(name: str, folder: Path, programs: dict[str, Client], n: int, concurrency: int) -> Cost:
    """Return what one client takes for n items, and check that it asked each once."""
    with loopback(folder, DELAY) as server:
        job = fresh(Job(folder / name, server.url, questions(n), concurrency))
        found = cost_of(programs[name](job), job.folder)
        if server.n_asked != n:
            print(f"{name}: {server.n_asked} requests for {n} items")
    return found


def main(n_items: list[int], concurrency: list[int], programs: dict[str, Client]) -> None:
    """Print a row a client, number of items and concurrency."""
    print("client | concurrency | items | CPU s | wall s | ms CPU an item more | MB")
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        for name in programs:
            cost(name, folder, programs, FEW, concurrency[0])  # bytecode and disk cache
            few = cost(name, folder, programs, FEW, concurrency[0])
            print(f"{name} | {concurrency[0]} | {FEW} | {few.cpu:.1f} | {few.wall:.1f} |", end=" ")
            print(f"| {few.megabytes:.0f}", flush=True)
            for n in n_items:
                for limit in concurrency:
                    many = cost(name, folder, programs, n, limit)
                    slope = (many.cpu - few.cpu) / (n - FEW) * 1000
                    print(f"{name} | {limit} | {n} | {many.cpu:.1f} | {many.wall:.1f} |", end=" ")
                    print(f"{slope:.2f} | {many.megabytes:.0f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[2000])
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64])
    given = add_options(parser).parse_args()
    with prepared(given) as programs:
        main(given.items, given.concurrency, programs)
