"""Runs the real workflow in a copy of the project, as a user would."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.support.journal_lines import records_of
from tests.support.slow import starting
from tests.support.warm_snakemake import run_warm

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["Snakefile", "config.yaml", "rules", "scripts", "envs", "profiles", "data"]
CELLS_ALONE = ("--until", "collect_user_turns")  # where what comes after is not the matter
SNAKEMAKE = Path(sys.executable).with_name("snakemake")


def copy_project(folder: Path) -> Path:
    """Copy what a run needs, without results."""
    folder.mkdir(parents=True)
    for part in PARTS:
        source = ROOT / part
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / part)
    shutil.copy(ROOT / "tests" / "support" / "study.yaml", folder / "study.yaml")
    return folder


def output_of(folder: Path, *command: str, ends: int = 0) -> str:
    """Run a command of this project in a folder; return what it says, errors included.

    Args:
        folder: in which it runs.
        command: `snakemake` or `userturn`, and its arguments.
        ends: the code that it must end with.
    """
    name, *arguments = command
    starting(name)
    if name == "snakemake":
        done = run_warm(arguments, folder)
    else:
        program = [SNAKEMAKE.with_name(name), *arguments]
        pipes: dict[str, int] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(program, cwd=folder, text=True, **pipes)
    assert done.returncode == ends, done.stdout
    return done.stdout


def snakemake(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the workflow in a folder with the test study; output is captured, stderr included."""
    starting("Snakemake")
    command = ["--configfile", "study.yaml", "--cores", "2", *arguments]
    if "PYTHONPATH" not in os.environ:
        return run_warm(command, folder)
    return subprocess.run(  # with the modules that it names
        [SNAKEMAKE, *command],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def run(folder: Path, *arguments: str) -> str:
    """Run the workflow and return its output; a failure shows it."""
    done = snakemake(folder, *arguments)
    assert done.returncode == 0, done.stdout
    return done.stdout


def planned(folder: Path, *arguments: str) -> Counter[str]:
    """Return how many jobs of each rule a dry run plans."""
    output = run(folder, "--dry-run", *arguments)
    table = output.rpartition("Job stats:")[2]
    rows = re.findall(r"^(\w+) +(\d+)$", table, flags=re.MULTILINE)
    return Counter({rule: int(count) for rule, count in rows if rule not in ("all", "total")})


def journal_lines(folder: Path, model: str = "tiny", dataset: str = "word-problems") -> list[bytes]:
    """Return every line of a model's journal."""
    files = sorted((folder / "results" / "journal" / model / dataset).glob("*.jsonl"))
    return [line for file in files for line in file.read_bytes().splitlines(keepends=True)]


def n_requests(folder: Path, **of: str) -> int:
    """Return how many requests the engine finished, and check that none was asked twice."""
    folder_of_journal = folder / "results" / "journal" / of.get("model", "tiny") / "word-problems"
    keys = [record["key"] for record in records_of(folder_of_journal)]
    assert len(keys) == len(set(keys)), "a request was asked twice"
    return len(keys)
