"""A small rehearsal: nothing is asked twice, every run of a job is accounted, audit is clean."""

import re
from argparse import Namespace
from pathlib import Path

import pytest
import yaml

from tests.slurm.cluster import Cluster, wait_for
from tests.slurm.rehearsal import HELD, findings, held_models, write_project
from tests.support.held_engine import ALLOWED, hold_engines
from tests.support.instant_engine import AT_START
from tests.support.snakemake_runs import ROOT

pytestmark = [pytest.mark.slurm, pytest.mark.long]

WIDTH = Namespace(models=2, datasets=2, temperatures=1, perturbations=1, items=3)
FEW = {"planted": 0, "chance_floor": 0, "edited": 0, "labelled": False, "injected": False}


def test_grid_whose_driver_and_sweep_are_requeued_passes_every_check_of_the_rehearsal(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    selection = write_project(folder, WIDTH)
    models = selection["models"]
    study = {"run": selection, "controls": {"human": []} | FEW}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    (folder / ALLOWED).write_text(f"{HELD}\n")
    engine = hold_engines(tmp_path / "engine", ROOT, AT_START)
    driver = cluster.start_as_job(folder, **engine)
    wait_for(lambda: held_models(folder, models) == models, f"{HELD} requests of {models}")
    for job in (driver, str(cluster.running(folder, models[0]))):
        cluster.call("scontrol", "requeue", job)
    said = r"^sweep \S+ 1of1 waits for SLURM job \d+ \((running|pending)\), which does the same"
    waits = lambda: len(re.findall(said, (folder / "run.log").read_text(), re.M)) == 2  # noqa: E731
    wait_for(waits, "the second run of the driver")
    (folder / ALLOWED).unlink()
    assert cluster.ended_as(driver) == "COMPLETED", (folder / "run.log").read_text()[-5000:]
    monkeypatch.setenv("PATH", cluster.environment["PATH"])  # for sacct
    assert list(findings(cluster, folder, selection, {"REQUEUED"})) == []
    assert len(cluster.jobs(folder)) == 3  # two sweeps, one of which ran twice
