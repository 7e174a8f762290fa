"""The commands of docs/tutorial.md, run in their order by somebody with a model and a CSV file."""

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model

pytestmark = pytest.mark.slow

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
COMMANDS = re.findall(r"^ {4}((?:userturn|snakemake) .+)$", TUTORIAL, re.M)
NOT_HERE = ("userturn judge-card",)  # which asks a vendor's API
SHOWN = re.findall(
    r"^ {4}((?:userturn|snakemake) [^\n]+)\n\n```text\n(.*?)```", TUTORIAL, re.M | re.S
)
OF_A_MACHINE = ("model:", "time:")
NUMBER = re.compile(r"\d[\d,.]*")


def label(study: Path) -> None:
    """Do what a person does in step 4: save a file with a label for every turn of the round."""
    key = pl.read_parquet(study / "results/humans/first/key.parquet", columns=["round", "id"])
    labels = pl.lit("degenerate").alias("label")  # what a tiny random model writes is noise
    rows = key.with_columns(labels, annotator=pl.lit("anna"), notes=pl.lit(""))
    folder = study / "data/annotations/first"
    folder.mkdir(parents=True, exist_ok=True)
    rows.write_csv(folder / "anna.csv")


def without_numbers(text: str) -> str:
    """Return a text in one line, with 0 for each number: those are of the machine and the day."""
    return " ".join(NUMBER.sub("0", text).replace("./", "").split())


def test_the_walk_ends_in_a_rate_that_people_corrected(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "my-model")
    (questions,) = re.findall(r"```text\n(question,.*?)```", TUTORIAL, re.S)
    (tmp_path / "questions.csv").write_text(questions)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said: dict[str, str] = {}
    every: dict[str, list[str]] = defaultdict(list)
    for command in [*COMMANDS, COMMANDS[0]]:
        folder = tmp_path if command.startswith("userturn run") else tmp_path / "my-study"
        if command.startswith("snakemake"):
            label(folder)
        if not command.startswith(NOT_HERE):
            done = subprocess.run(
                command.split(),
                cwd=folder,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PATH": path},
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}"
            every[command].append(done.stdout)
            said[command] = done.stdout  # of `userturn rates` what came last
    for command, shown in SHOWN:
        told = without_numbers("\n".join(every[command]))
        lines = [line for line in shown.splitlines() if not line.startswith(OF_A_MACHINE)]
        for line in map(without_numbers, lines):
            assert line in told, f"{command} does not say: {line}"
    before, _, after = every[COMMANDS[0]][0].partition("Using profiles")
    assert "context 4,096; transformers in float32, on the CPU" in before
    assert "asks:   3 answers, 6 user turns at most" in before
    assert "Not a finding" in after  # nobody has measured the judge
    report = next(line for line in after.splitlines() if line.startswith("report: "))
    assert (tmp_path / report.removeprefix("report: ")).is_file()  # from where it was started
    assert "goes on" in said[COMMANDS[0]] and "Nothing to be done" in said[COMMANDS[0]]
    rates = " ".join(said["userturn rates"].split())
    assert "A finding: 0.0%" in rates and "by people's labels" in rates
    assert "people's labels that judges lack" in said["userturn plan"]
    assert "no finding" in said["userturn audit results"]
    assert (tmp_path / "my-study/results.zip").exists()
