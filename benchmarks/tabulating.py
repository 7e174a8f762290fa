"""Ten million verdicts into every table: time, memory, and the bootstrap against scipy's.

From the project's folder: `python benchmarks/tabulating.py 10`, in millions of verdicts.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import bootstrap

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.synthetic_study import DATASETS, write_study
from userturn.config.load import load_config
from userturn.stats.bootstrap import Patterns, clustered_rate
from userturn.study.grid import Grid
from userturn.tables.analyse import analysed
from userturn.tables.item_counts import count_items

N_RESAMPLES = 2000
ROWS_OF_ONE_SAMPLE = 692_505  # 11 models, 5 datasets, 5 temperatures, 3 perturbations
N_SAMPLES = 5  # above temperature 0: 4.2 verdicts an item on average


def gigabytes() -> float:
    """Return the most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def patterns_of(scored: np.ndarray, positive: np.ndarray) -> Patterns:
    """Return items counted by their counts."""
    pairs, counts = np.unique(np.column_stack([scored, positive]), axis=0, return_counts=True)
    return Patterns(counts.astype(float), pairs[:, 0].astype(float), pairs[:, 1].astype(float))


def rate(positive: np.ndarray, scored: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the rate over items of both samples, as scipy asks for it."""
    return positive.sum(axis) / scored.sum(axis)


def ratio_to_scipy(n_items: int, n_cells: int) -> float:
    """Return how many times longer scipy's percentile bootstrap of the same cells takes."""
    rng = np.random.default_rng(0)
    cells = [
        (np.full(n_items, N_SAMPLES), rng.binomial(N_SAMPLES, rng.beta(1, 9, n_items)))
        for _ in range(n_cells)
    ]
    start = time.perf_counter()
    ours = [
        clustered_rate([patterns_of(*cell)], "micro", N_RESAMPLES, np.random.default_rng(1))[0]
        for cell in cells
    ]
    middle = time.perf_counter()
    theirs = [
        bootstrap(
            (positive, scored),
            rate,
            paired=True,
            method="percentile",
            n_resamples=N_RESAMPLES,
            rng=np.random.default_rng(1),
        ).confidence_interval
        for scored, positive in cells
    ]
    end = time.perf_counter()
    gap = max(
        abs(o.lower - t.low) + abs(o.upper - t.high) for o, t in zip(ours, theirs, strict=True)
    )
    print(f"bootstrap of {n_cells} cells of {n_items} items, {N_RESAMPLES} resamples:")
    print(f"  here {middle - start:.3f} s, scipy {end - middle:.1f} s, limits differ by {gap:.4f}")
    return (end - middle) / (middle - start)


def main(millions: float) -> None:
    """Print what the tables of so many verdicts cost."""
    grow = millions * 1e6 / (ROWS_OF_ONE_SAMPLE * (1 + 4 * N_SAMPLES) / 5)
    datasets = {name: round(n * grow) for name, n in DATASETS.items()}
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        verdicts, grades = write_study(Path(folder), datasets=datasets, n_samples=N_SAMPLES)
        written = time.perf_counter()
        print(f"{len(verdicts)} files of verdicts written in {written - start:.0f} s")
        items = count_items(verdicts)
        counted = time.perf_counter()
        print(f"{items['n_turns'].sum():,} verdicts on {items.height:,} items of cells")
        print(f"counted by item in {counted - written:.0f} s, {gigabytes():.1f} GB at most")
        graded = pl.concat([pl.read_parquet(path) for path in grades])
        tables = analysed(items, graded, Grid(load_config(["config.yaml"])), N_RESAMPLES)
        done = time.perf_counter()
        n_rows = sum(table.height for table in tables.values())
        print(f"{n_rows:,} rows of tables in {done - counted:.0f} s, {gigabytes():.1f} GB at most")
        print(f"together {done - written:.0f} s")
    print(f"scipy takes {ratio_to_scipy(1319, 50):.0f} times as long")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
