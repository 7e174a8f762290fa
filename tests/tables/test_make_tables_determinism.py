"""Equal verdicts give equal bytes: every table and figure, with any threads, in any row order."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

from tests.support.table_digests import digests
from tests.support.whole_study import made_of_cells, write_whole_study
from userturn.workflow.registry import FIGURES, TABLES

pytestmark = pytest.mark.slow  # three processes of four passes over a study
THREADS = ("1", "2", "8")


@pytest.mark.long
@pytest.mark.parametrize("n_passes", [1, 4])
def test_tables_and_figures_are_equal_in_all_passes_with_one_two_and_eight_threads(
    tmp_path: Path, n_passes: int
) -> None:
    """Five datasets, three judges; tables in every pass, what follows from them in the first.

    Thirty passes were equal, too; these are as many as the order of rows leaves worth their time.
    """
    write_whole_study(tmp_path)
    found: dict[str, list[str]] = defaultdict(list)
    for n in THREADS:
        threads = {"POLARS_MAX_THREADS": n, "OMP_NUM_THREADS": n, "OPENBLAS_NUM_THREADS": n}
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.table_digests", str(tmp_path), str(n_passes)],
            env=os.environ | threads,
            capture_output=True,
            text=True,
            check=True,
        )
        for line in done.stdout.splitlines():
            for name, digest in json.loads(line).items():
                found[name].append(digest)
    tables, pictures = made_of_cells(TABLES), (".vl.json", ".svg", ".png")
    everywhere = {f"{name}.parquet" for name in tables}
    once = {f"{name}{ending}" for name in made_of_cells(FIGURES) for ending in pictures}
    once |= {f"{name}{ending}" for name in tables for ending in TABLES[name].formats[1:]}
    times = dict.fromkeys(everywhere, len(THREADS) * n_passes) | dict.fromkeys(once, len(THREADS))
    assert {name: len(digests) for name, digests in found.items()} == times
    assert [name for name, digests in found.items() if len(set(digests)) > 1] == []


def test_no_table_or_figure_depends_on_the_order_of_the_rows_of_its_inputs(tmp_path: Path) -> None:
    write_whole_study(tmp_path)
    found = digests(tmp_path, (".vl.json",))
    for seed, path in enumerate(sorted(tmp_path.rglob("*.parquet"))):
        rows = pl.read_parquet(path)
        rows.sample(fraction=1, shuffle=True, seed=seed).write_parquet(path)
    assert digests(tmp_path, (".vl.json",)) == found
