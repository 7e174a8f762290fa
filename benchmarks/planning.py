"""What Snakemake takes to read the study, beside a bare Snakefile with as many jobs.

From the project's folder: `python benchmarks/planning.py --jobs 1000 3300 10000`. Printed are
CPU-seconds and the most memory of a dry run of a grid that nobody has begun, then, with `--cells`,
of a finished one, where nothing is to be done, and of that one grown by a model. The floor are two
Snakefiles with as many jobs and no code of ours: one of shell commands in chains of three, and one
whose rules have a script, log, environment, params, resource and input function, as ours have.
Three more jobs of either take all files of all chains, as those for tables and report do here.
`--datasets 50` plans so many datasets by one temperature and perturbation: 100 models by 50.
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

from benchmarks.measuring import Cost, cost_of
from tests.support.snakemake_runs import SNAKEMAKE, copy_project
from userturn.config.load import load_config
from userturn.storage.table_files import write_table
from userturn.study.grid import Grid

CELLS_OF_A_MODEL = 5 * 5 * 3  # datasets, temperatures, perturbations of the shipped config
JOBS_OF_A_MODEL = 206  # two a cell, ten a dataset, its description, its sweep, what people see
DRY_RUN = ("--cores", "2", "--dry-run", "--quiet", "rules")  # how many jobs of each, not each

FLOOR = """
cells, tables = range(config["cells"]), ["analyse", "tabulate", "report"]

def identity(wildcards):
    return f"0123456789abcdef-{wildcards.cell}"

rule all:
    input:
        expand("results/{cell}/{name}.txt", cell=cells, name=list("abc")),
        expand("results/{table}.txt", table=tables)

for table in tables:
    rule:
        name: table
        input: expand("results/{cell}/{name}.txt", cell=cells, name=list("abc"))
        output: f"results/{table}.txt"
        shell: "touch {output}"
"""
PLAIN_RULE = """
rule RULE:
    input: "INPUT"
    output: "results/{cell}/RULE.txt"
    shell: "touch {output}"
"""
DRESSED_RULE = """
rule RULE:
    input: lambda wildcards: "INPUT".format(cell=wildcards.cell)
    output: "results/{cell}/RULE.txt"
    log: "logs/RULE/{cell}.log"
    localrule: True
    conda: "environment.yaml"
    resources: requests=lambda wildcards: 0
    params: identity=identity
    script: "script.py"
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


def floor(folder: Path, n: int, rule: str) -> Path:
    """Write a Snakefile with n jobs in chains of three, all of one form."""
    folder.mkdir()
    inputs = {"a": "study.yaml", "b": "results/{cell}/a.txt", "c": "results/{cell}/b.txt"}
    rules = [rule.replace("RULE", name).replace("INPUT", path) for name, path in inputs.items()]
    (folder / "Snakefile").write_text(FLOOR + "".join(rules))
    (folder / "study.yaml").write_text(f"cells: {n // 3 - 1}\n")
    (folder / "environment.yaml").write_text("dependencies: []\n")
    (folder / "script.py").write_text("")
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


def show(name: str, n: int, cost: Cost) -> None:
    """Print one row."""
    print(f"{name} | {n:,} | {cost.cpu:.1f} | {cost.megabytes:.0f}", flush=True)


def plan(folder: Path, n_models: int, n_datasets: int) -> None:
    """Print what it takes to plan a grid and both floors."""
    study = copy_project(folder / f"{n_models}-{n_datasets}")
    run = {} if n_datasets == 5 else {"temperatures": [0], "perturbations": ["none"]}
    write_grid(study, n_models, n_datasets, **run)
    cost, output = snakemake(study, *DRY_RUN)
    n = n_jobs(output)
    show("userturn", n, cost)
    for name, rule in {"bare": PLAIN_RULE, "bare, dressed": DRESSED_RULE}.items():
        cost, _ = snakemake(floor(study / name, n, rule), *DRY_RUN)
        show(name, n, cost)


def nothing_to_do(folder: Path, n_cells: int) -> None:
    """Print what a finished grid of so many cells takes, and what growing it by a model plans."""
    n_models = n_cells // CELLS_OF_A_MODEL
    study = copy_project(folder / "finished")
    write_grid(study, n_models)
    finish(study)
    cost, output = snakemake(study, *DRY_RUN)
    show(f"finished, {n_models * CELLS_OF_A_MODEL:,} cells", n_jobs(output), cost)
    bare = floor(folder / "finished-bare", n_models * JOBS_OF_A_MODEL, DRESSED_RULE)
    finish(bare)
    cost, output = snakemake(bare, *DRY_RUN)
    show("finished, bare, dressed", n_jobs(output), cost)
    write_grid(study, n_models + 1)
    cost, output = snakemake(study, *DRY_RUN)
    show("grown by a model", n_jobs(output), cost)
    print(output.rpartition("Job stats:")[2].partition("Reasons:")[0])


def main(jobs: list[int], n_cells: int, n_datasets: int) -> None:
    """Print a table."""
    print("Snakefile | jobs | CPU s | MB")
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        per_model = JOBS_OF_A_MODEL if n_datasets == 5 else 8 * n_datasets
        for n in jobs:
            plan(folder, max(1, n // per_model), n_datasets)
        if n_cells:
            nothing_to_do(folder, n_cells)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="*", default=[1000, 3300, 10_000])
    parser.add_argument("--cells", type=int, default=1100, help="of the finished grid, 0 for none")
    parser.add_argument("--datasets", type=int, default=5)
    given = parser.parse_args()
    main(given.jobs, given.cells, given.datasets)
