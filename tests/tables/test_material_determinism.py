"""Equal verdicts give equal bytes: in every table, with any number of threads, every time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.synthetic_study import write_study

pytestmark = pytest.mark.slow  # three processes of ten passes over a study


def test_tables_are_equal_in_thirty_passes_with_one_two_and_eight_threads(tmp_path: Path) -> None:
    write_study(
        tmp_path,
        models=["qwen3.5-0.8b", "qwen3.5-2b", "qwen3.5-4b", "glm-4.7"],
        datasets={"gsm8k": 41, "math500": 27, "ifbench": 21, "healthbench": 19, "coval": 13},
        temperatures=(0.0, 0.7),
        perturbations=("none", "truncate"),
        judges=("heuristic", "other", "third"),
        n_samples=2,
    )
    found = []
    for threads in ("1", "2", "8"):
        command = [sys.executable, "-m", "tests.support.table_digests", str(tmp_path), "10"]
        done = subprocess.run(
            command,
            env=os.environ | {"POLARS_MAX_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        found += done.stdout.split("\n")[:-1]
    assert len(found) == 30
    assert len(set(found)) == 1
