"""Each architecture of the tables in docs/models.md does again what its row says."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.snakemake_runs import ROOT
from tests.support.torchvision_beside import write_torchvision


def documented() -> list[tuple[str, str, str, str]]:
    """Return engine, architecture, number type and outcome of each row."""
    rows, engine = [], ""
    for line in (ROOT / "docs" / "models.md").read_text().splitlines():
        if line.startswith("`python benchmarks/architectures.py"):
            engine = line.partition("--engine ")[2].partition("`")[0]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if engine and line.startswith("|") and len(cells) == 6 and cells[0].strip("-"):
            rows += [(engine, *cells[:3])] if cells[0] != "architecture" else []
    return rows


def test_tables_of_both_engines_are_found() -> None:
    assert {engine for engine, *_ in documented()} == {"transformers", "vllm"}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the torchvision that vLLM's models for text and images import."""
    return write_torchvision(tmp_path_factory.mktemp("beside"))


@pytest.mark.long
@pytest.mark.parametrize(("engine", "name", "dtype", "outcome"), documented())
def test_architecture_does_what_its_row_says(
    engine: str, name: str, dtype: str, outcome: str, beside: Path
) -> None:
    if engine == "vllm" and importlib.util.find_spec("vllm") is None:
        pytest.skip("vLLM is not installed")
    command = [sys.executable, "benchmarks/architectures.py", "--engine", engine, name]
    paths = os.pathsep.join([str(ROOT), str(beside)])
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    found = [cell.strip() for cell in done.stdout.splitlines()[-1].strip("|").split("|")]
    assert found[:3] == [name, dtype, outcome]
