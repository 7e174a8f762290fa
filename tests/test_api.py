"""A finished study is read in a notebook: frames and figures by name, an error with the nearest."""

import json
import subprocess
import sys
from pathlib import Path

import altair
import polars as pl
import pytest

import userturn
from tests.support.snakemake_runs import ROOT
from userturn.errors import UserError


@pytest.mark.slow
def test_the_notebook_of_the_docs_runs_beside_a_finished_study(
    finished_study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(finished_study)
    cells = json.loads((ROOT / "docs/notebook.ipynb").read_text())["cells"]
    space: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)
    read = space["read"]
    assert isinstance(read, pl.DataFrame) and read["label"].null_count() < read.height


@pytest.mark.slow
def test_frames_are_those_of_the_files_and_figures_are_charts(finished_study: Path) -> None:
    study = userturn.load(str(finished_study / "results"))
    stored = pl.read_parquet(finished_study / "results/tables/rates.parquet")
    assert study.rates.equals(stored)
    assert study.turns.height == len(study.verdicts.unique([*study.turns.columns[:4], "item"]))
    chart = study.figure("rates_by_temperature")
    assert isinstance(chart, altair.TopLevelMixin)
    with pytest.raises(UserError, match="did you mean 'rates'"):
        study.table("ratse")


def test_a_folder_without_a_study_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run `snakemake` first"):
        userturn.load(str(tmp_path))


def test_importing_userturn_loads_no_tables() -> None:
    code = "import sys, userturn; print([m for m in ('polars', 'altair') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
