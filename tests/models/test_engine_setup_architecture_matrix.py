"""Each architecture of the tables in benchmarks/architectures.md does again what its row says."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_architectures import ARCHITECTURES
from tests.support.torchvision_beside import write_torchvision


def documented() -> list[tuple[str, str, str, str]]:
    """Return engine, architecture, number type and outcome of each row."""
    text = (ROOT / "benchmarks" / "architectures.md").read_text()
    rows = []
    for part in text.split("`python benchmarks/architectures.py --engine ")[1:]:
        engine, _, rest = part.partition("`")
        table = rest[rest.index("\n|") :].strip().partition("\n\n")[0]
        cells = [[c.strip() for c in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
        rows += [(engine, row[0], row[1], row[2]) for row in cells]
    return rows


def test_each_engine_has_a_row_of_each_architecture() -> None:
    named = [(engine, name) for engine, name, *_ in documented()]
    assert named == [(e, name) for e in ("transformers", "vllm") for name in ARCHITECTURES]


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
