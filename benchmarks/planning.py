"""What Snakemake takes to read the study, beside a bare Snakefile with as many jobs.

From the project's folder: `python benchmarks/planning.py --jobs 1000 10000 30000 --cells 1100`.
The bare Snakefile has three rules in a chain, neither input functions nor params, and a job each for
as many cells as make up the number: what is above it is ours, what is below it is Snakemake's own.
Printed are CPU-seconds and the most memory of a dry run of a grid that nobody has begun, of the
same command on a finished one, where nothing is to be done, and of that one grown by a model.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measuring import Cost, cost_of, exponent
from tests.workflow import SNAKEMAKE, copy_project
from userturn.config import load_config
from userturn.grid import Grid
from userturn.tables import write_table

CELLS_OF_A_MODEL = 5 * 5 * 3  # datasets, temperatures, perturbations of the shipped config
JOBS_OF_A_MODEL = 254  # three a cell, four a dataset, its description, its sweep, what people see
DRY_RUN = ("--cores", "2", "--dry-run", "--quiet", "all")

BARE = """
cells = range(config["cells"])

rule all:
    input: expand("results/{cell}/c", cell=cells)

rule a:
    output: "results/{cell}/a"
    shell: "touch {output}"

rule b:
    input: "results/{cell}/a"
    output: "results/{cell}/b"
    shell: "touch {output}"

rule c:
    input: "results/{cell}/b"
    output: "results/{cell}/c"
    shell: "touch {output}"
"""


def write_grid(folder: Path, n_models: int, n_datasets: int = 5, **run: Sequence[Any]) -> None:
    """Write a selection of so many models, and of the shipped or of so many small datasets."""
    models = {f"model-{i:03}-{i + 1}b": f"org/model-{i:03}" for i in range(n_models)}
    study: dict[str, Any] = {"models": models, "run": {"models": list(models), **run}}
    if n_datasets != 5:
        entry = {"file": "data/demo/word_problems.jsonl", "verifier": "numeric"}
        entry["fields"] = {"id": "id", "prompt": "question", "reference": "answer"}
        study["datasets"] = {f"dataset-{i:02}": entry for i in range(n_datasets)}
        study["run"]["datasets"] = list(study["datasets"])
    (folder / "study.yaml").write_text(yaml.safe_dump(study))


def snakemake(folder: Path, *arguments: str) -> tuple[Cost, str]:
    """Run Snakemake on a folder's study and return its cost and output."""
    command = [SNAKEMAKE, "--configfile", "study.yaml", *arguments]
    return cost_of(command, folder), (folder / "command.log").read_text()


def n_jobs(output: str) -> int:
    """Return how many jobs a dry run has planned, `all` not counted."""
    found = re.findall(r"^total +(\d+)$", output, flags=re.MULTILINE)
    return int(found[-1]) - 1 if found else 0


def bare(folder: Path, n: int) -> Path:
    """Write the bare Snakefile with n jobs."""
    folder.mkdir()
    (folder / "Snakefile").write_text(BARE)
    (folder / "study.yaml").write_text(f"cells: {n // 3}\n")
    return folder


def finish(folder: Path) -> None:
    """Put a file where every job of a study would write one, as if it had been run."""
    _, summary = snakemake(folder, "--cores", "1", "--summary")
    rows = [line.split("\t")[0] for line in summary.splitlines() if "\tmissing\t" in line]
    for path in (folder / row for row in rows):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch() if path.suffix else path.mkdir(exist_ok=True)
    if (folder / "config.yaml").exists():
        identify(folder)
    snakemake(folder, "--cores", "1", "--touch", "--forceall", "--quiet", "all")


def identify(folder: Path) -> None:
    """Give answers and cells the identity that the config asks for."""
    grid = Grid(load_config([folder / "config.yaml", folder / "study.yaml"]), folder / "results")
    table = pl.DataFrame()
    for model in grid.models:
        for dataset in grid.datasets:
            identity = grid.answers_identity(model, dataset)
            write_table(table, folder / f"results/answers/{model}/{dataset}.parquet", identity)
            grid.requests_folder(model, dataset, identity).mkdir(parents=True)
    for cell in grid.cells:
        identity = grid.cell_identity(cell)
        write_table(table, grid.results / "cells" / cell.folder / "user_turns.parquet", identity)
        grid.requests_folder(cell.model, cell.dataset, identity).mkdir(parents=True)
