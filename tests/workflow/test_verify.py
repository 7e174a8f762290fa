"""The commands of an archive's VERIFY.md give its digest and numbers, without userturn."""

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unpacked(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unpacked archive of a finished study."""
    folder = tmp_path_factory.mktemp("verify")
    command = [Path(sys.executable).with_name("userturn"), "export", "results"]
    subprocess.run([*command, "--to", folder / "study.zip"], cwd=finished_study, check=True)
    with ZipFile(folder / "study.zip") as archive:
        archive.extractall(folder)
    return folder


def blocks(folder: Path, language: str) -> list[str]:
    """Return the code of a language in VERIFY.md."""
    return re.findall(f"```{language}\n(.*?)```", (folder / "VERIFY.md").read_text(), re.DOTALL)


def test_the_standard_library_alone_gives_the_digest_that_an_audit_prints(unpacked: Path) -> None:
    (code,) = blocks(unpacked, "python")
    alone = [sys.executable, "-I", "-S", "-c", code]  # -S: without any installed package
    digest = subprocess.run(alone, cwd=unpacked, text=True, capture_output=True, check=True)
    audit = [Path(sys.executable).with_name("userturn"), "audit", unpacked / "study.zip"]
    said = subprocess.run(
        [*audit, "--to", unpacked / "audit"], cwd=ROOT, text=True, capture_output=True
    )
    assert f"digest {digest.stdout.strip()}:" in said.stdout + said.stderr


def test_the_queries_give_the_numbers_of_the_tables(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read by Polars, which takes the same SQL as DuckDB."""
    monkeypatch.chdir(unpacked)
    rates, unscored, right = (pl.sql(query).collect() for query in blocks(unpacked, "sql"))
    table = pl.read_parquet("results/tables/rates.parquet")
    cells = table.filter(scope="cell", label="genuine_followup", judge="heuristic")
    cell = ["model", "dataset", "temperature", "perturbation"]
    counted = cells.join(rates, on=cell, validate="1:1")
    assert counted.height == cells.height == 4
    assert counted["estimate"].equals(counted["rate"])
    assert counted["n_scored"].equals(counted["n_scored_right"])
    assert unscored["n_turns"].sum() == (cells["n_turns"] - cells["n_scored"]).sum()
    accuracy = pl.read_parquet("results/tables/accuracy.parquet")
    of_answers = accuracy.join(right, on=["model", "dataset"], validate="1:1")
    assert of_answers["estimate"].to_list() == of_answers["accuracy"].to_list()
