"""Twenty mistakes of a cluster's owner, each told in a sentence before a job is queued."""

import os
import shutil
import tempfile
from collections import ChainMap
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
import yaml

from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.config.load import load_study
from userturn.errors import UserError
from userturn.models import fetch
from userturn.slurm import node_check
from userturn.slurm.doctor import examine
from userturn.slurm.mistakes import mistakes_of
from userturn.slurm.submission import read_profile
from userturn.sources.registry import check_study
from userturn.study.grid import Grid

CLUSTER = {  # what SLURM's commands print, recorded on one of 22.05
    "partition": """\
PartitionName=cpu AllowAccounts=ALL AllowQos=ALL Default=YES MaxNodes=UNLIMITED MaxTime=1-00:00:00 \
MinNodes=0 OverSubscribe=NO PreemptMode=REQUEUE State=UP MaxMemPerNode=UNLIMITED
PartitionName=gpu AllowAccounts=ALL AllowQos=ALL Default=NO MaxNodes=UNLIMITED MaxTime=04:00:00 \
MinNodes=0 OverSubscribe=NO PreemptMode=REQUEUE State=UP MaxMemPerNode=UNLIMITED
PartitionName=old AllowAccounts=ALL Default=NO MaxTime=UNLIMITED PreemptMode=REQUEUE State=DOWN
PartitionName=spot AllowAccounts=ALL Default=NO MaxTime=UNLIMITED PreemptMode=CANCEL State=UP
""",
    "config": "AccountingStorageEnforce = associations,limits,qos,safe\nMinJobAge = 300 sec\n",
    "nodes": """\
cpu|8|16000|(null)|(null)
gpu|8|16000|gpu:h100:2(S:0-1)|h100,ib
gpu|8|64000|gpu:a100:4|a100
spot|8|16000|gpu:h100:2|h100
""",
    "user": "lab\n",
    "assoc": "lab||normal,short|3||||||\n",
    "qos": "normal|||||||\nshort|||||00:30:00||\nlong|||||||\n",
}
COMMANDS = {
    "scontrol": "cat cluster/$2",
    "sinfo": "cat cluster/nodes",
    "sacctmgr": 'case "$*" in *assoc*) cat cluster/assoc;; *qos*) cat cluster/qos;; '
    "*) cat cluster/user;; esac",
    "sbatch": 'case "$*" in *--test-only*) test ! -e refused;; *) echo 7;; esac',
    "squeue": "true",  # the job has ended
    "scancel": "true",
}
WELL: dict[str, Any] = {"gpus": 1, "mem_mb": 8000, "max_mem_mb": 9000, "runtime": 60}
PROFILE: dict[str, Any] = {"jobs": 3, "default-resources": {"slurm_partition": "gpu"}}


def of_sweep(**resources: Any) -> dict[str, Any]:
    return {"set-resources": {"sweep": resources}}


def of_all(**resources: Any) -> dict[str, Any]:
    return {"default-resources": resources}


ENTRY, PROFILED, TOLD, SHELL = "entry", "profile", "cluster", "environment"
MISTAKES: dict[str, tuple[str, dict[str, Any], str]] = {
    "partition that the cluster lacks": (
        *(PROFILED, of_all(slurm_partition="gpuu")),
        "correct 'gpuu' as slurm_partition in the profile or partition in the entry: no partition "
        "is called so, did you mean 'gpu'?",
    ),
    "no partition": (PROFILED, {"default-resources": {}}, "has a GPU; name one that has some"),
    "no partition and no default": (
        *(TOLD, {"partition": "PartitionName=gpu Default=NO"}),
        "the cluster has no default partition; name one as slurm_partition",
    ),
    "partition that is down": (ENTRY, {"partition": "old"}, "partition old is not up"),
    "partition that cancels": (ENTRY, {"partition": "spot"}, "PreemptMode is CANCEL in spot"),
    "time": (ENTRY, {"runtime": 241}, "--time=241 is beyond 240, the limit of gpu"),
    "time of a later attempt": (PROFILED, {"restart-times": 4}, "--time=300 is beyond 240"),
    "account": (
        *(PROFILED, of_all(slurm_partition="gpu", slurm_account="lap")),
        "lap is not one of yours, so every submission would be refused: correct slurm_account "
        "in the profile, did you mean 'lab'?",
    ),
    "QOS that the cluster lacks": (ENTRY, {"qos": "shrot"}, "no 'shrot', did you mean 'short'?"),
    "QOS of others": (ENTRY, {"qos": "long"}, "account lab may not use it"),
    "time beyond a QOS": (
        *(ENTRY, {"qos": "short"}),
        "attempt 1 asks for 60 minutes, and the limit is 30",
    ),
    "type of GPU": (
        *(ENTRY, {"gpu_model": "h10"}),
        "correct gpu_model: no node of partition gpu has a GPU of type 'h10', did you mean 'h100'?",
    ),
    "type of GPU of a whole node": (
        *(PROFILED, of_sweep(gpu=0, gres="'gpu:v100:2'")),
        "has a GPU of type 'v100', did you mean 'h100'?",
    ),
    "GPUs of a node": (
        *(ENTRY, {"gpus": 8}),
        "no node of partition gpu has 8 GPUs, the most is 4; lower gpus, or spread them over",
    ),
    "GPUs of a type": (ENTRY, {"gpus": 3, "gpu_model": "h100"}, "3 GPUs of type 'h100', the most"),
    "constraint": (ENTRY, {"constraint": "h100&ibb"}, "has 'ibb', did you mean 'ib'?"),
    "memory": (
        *(ENTRY, {"mem_mb": 64001, "max_mem_mb": 64001}),
        "has 64001 MB of memory, the most is 64000; lower mem_mb or max_mem_mb",
    ),
    "cores": (PROFILED, {"set-threads": {"sweep": 9}}, "9 cores, the most is 8; lower `set-thr"),
    "jobs at once": (
        *(TOLD, {"assoc": "lab||normal|0||||||\n"}),
        "no job may be submitted; name another account or QOS in the profile",
    ),
    "expression": (
        *(PROFILED, of_all(slurm_partition="'gpu' if wildcards.modle == 'tiny' else 'cpu'")),
        "the profile's slurm_partition is ''gpu' if wildcards.modle == 'tiny' else 'cpu'', which "
        "Python refuses",
    ),
    "time that is none": (PROFILED, of_sweep(runtime="soon"), "runtime is 'soon', expected minut"),
    "negative time": (PROFILED, of_sweep(runtime=-5), "runtime is '-5', expected minutes"),
    "memory that is none": (PROFILED, of_sweep(mem_mb="8GB"), "mem_mb is '8GB', expected MB"),
    "attempts": (PROFILED, {"retries": "two"}, "retries is 'two', expected a whole number"),
    "rule": (
        *(PROFILED, {"set-resources": {"sweeps": {"runtime": 60}}}),
        "the profile sets resources of rule 'sweeps', did you mean 'sweep'?",
    ),
    "resource": (PROFILED, of_sweep(slurm_acount="lab"), "'slurm_acount', did you mean 'slurm_a"),
    "option": (PROFILED, {"retrys": 2}, "'retrys', which Snakemake does not know, did you mean"),
    "key of the entry": (
        ENTRY,
        {"gpu_modle": "h100"},
        "unknown key 'gpu_modle', did you mean 'gpu_",
    ),
    "folder of downloads": (
        *(SHELL, {"HF_HOME": "config.yaml/hub"}),
        "cannot write into 'config.yaml/hub' (Not a directory); set HF_HOME to a folder that can",
    ),
    "project that nodes do not see": (
        *(SHELL, {}),
        "must be on a file system that compute nodes share, and so must the Python in use",
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of one model, and a folder of commands that print what CLUSTER says."""
    folder = tmp_path_factory.mktemp("mistakes")
    shutil.copy(ROOT / "config.yaml", folder / "config.yaml")
    shutil.copytree(ROOT / "data", folder / "data")
    write_tiny_model(folder / "models" / "tiny", width=64)
    (folder / "bin").mkdir()
    for name, does in COMMANDS.items():
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{does}\n")
        program.chmod(0o755)
    return folder


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The project, in which the test is, with the cluster's commands."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{project / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HF_HOME", str(project / "hub"))
    monkeypatch.setenv("USERTURN_CACHE", str(project / "cache"))
    yield project
    shutil.rmtree(project / "logs", ignore_errors=True)


def told(
    entry: dict[str, Any] | None = None,
    profile: dict[str, Any] | None = None,
    cluster: dict[str, str] | None = None,
) -> list[str]:
    """Return what the doctor says is wrong."""
    study = yaml.safe_load((ROOT / "tests" / "support" / "study.yaml").read_text())
    study["models"]["tiny"] |= WELL | (entry or {})
    Path("study.yaml").write_text(yaml.safe_dump(study))
    Path("slurm").mkdir(exist_ok=True)
    Path("slurm/config.yaml").write_text(yaml.safe_dump(PROFILE | (profile or {})))
    Path("cluster").mkdir(exist_ok=True)
    for name, said in ChainMap(cluster or {}, CLUSTER).items():
        (Path("cluster") / name).write_text(said)
    try:
        config = load_study(["study.yaml"])
        check_study(config)
        grid = Grid(config)
        found = list(examine(grid, read_profile(Path("slurm")), 9, tries_gpu=False))
    except UserError as error:
        return [str(error)]
    return [one.trouble for one in found if one.trouble]


def is_of_the_node(trouble: str) -> bool:
    return "must be on a file system that compute nodes share" in trouble


@pytest.mark.slow
def test_of_settings_without_a_mistake_nothing_is_told_but_that_the_node_gave_no_answer(
    here: Path,
) -> None:
    assert [line for line in told() if not is_of_the_node(line)] == []


@pytest.mark.slow
@pytest.mark.parametrize("what", MISTAKES)
def test_doctor_tells_a_mistake_in_a_sentence(
    here: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, change, expected = MISTAKES[what]
    if where == SHELL:
        for name, value in change.items():
            monkeypatch.setenv(name, value)
        lines = told()
    elif what == "no partition and no default":
        lines = told(profile={"default-resources": {}}, cluster=change)
    else:
        lines = told(**{where: change})
    (said,) = [line for line in lines if expected in line]
    assert "\n" not in said
    if "node" not in what:  # and no job was submitted that could not run
        others = [line for line in lines if line != said and not is_of_the_node(line)]
        assert others == []


@pytest.mark.slow
def test_doctor_tells_a_download_that_its_disk_has_no_room_for(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [SimpleNamespace(file_size=10**18, will_download=True)]

    def ask(*_: Any, local_files_only: bool = False, **__: Any) -> list[SimpleNamespace]:
        if local_files_only:
            raise FileNotFoundError
        return files

    monkeypatch.setattr(huggingface_hub, "snapshot_download", ask)
    monkeypatch.setattr(fetch, "hub_answers", lambda: True)
    lines = told({"source": "org/large", "revision": "a" * 40})
    (said,) = [line for line in lines if "to be downloaded are 1,000,000,000.0 GB" in line]
    assert "set HF_HOME to a folder on a larger one" in said


@pytest.mark.parametrize(
    ("scratch", "free", "expected"),
    [
        ("nowhere", 10**9, "USERTURN_SCRATCH is 'nowhere', which is not a folder on this node"),
        (tempfile.gettempdir(), 1, "GB free; set USERTURN_SCRATCH to a larger disk of the node"),
        (tempfile.gettempdir(), 10**9, "None"),
    ],
)
def test_node_tells_a_disk_of_its_own_that_is_missing_or_small(
    here: Path, scratch: str, free: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERTURN_SCRATCH", scratch)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    assert expected in str(node_check._scratch_trouble("./models/tiny", None))


def a_run(**resources: Any) -> Any:
    """Return a workflow of Snakemake with a job at work here and one to be submitted."""
    asked = {"slurm_partition": "gpu", "runtime": 60, "mem_mb": 8000, "gpu": 1, "nodes": 1}
    jobs = [
        SimpleNamespace(
            rule=SimpleNamespace(name="sweep"),
            wildcards=["tiny", "1of1"],
            resources=asked | resources,
            threads=8,
            is_local=is_local,
        )
        for is_local in (True, False)
    ]
    return SimpleNamespace(
        resource_settings=SimpleNamespace(
            overwrite_resources={"sweeps": {"runtimes": 5}}, overwrite_threads={}
        ),
        executor_settings=SimpleNamespace(qos=None, reservation=None),
        rules=[SimpleNamespace(name="sweep")],
        dag=SimpleNamespace(needrun_jobs=lambda: jobs),
    )


LOST = [  # settings of the run above that nothing reads
    "the profile sets resources of rule 'sweeps', did you mean 'sweep'?",
    "the profile sets resource 'runtimes', did you mean 'runtime'?",
]


def test_a_run_of_which_slurm_takes_the_jobs_names_only_settings_that_are_lost(here: Path) -> None:
    told()
    assert list(mistakes_of(a_run())) == LOST


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"slurm_partition": "gpuu"}, "correct 'gpuu' as slurm_partition in the profile"),
        ({"gpu_model": "h10"}, "has a GPU of type 'h10', did you mean 'h100'?"),
        ({"runtime": 241}, "--time=241 is beyond 240, the limit of gpu"),
    ],
)
def test_a_run_tells_what_its_jobs_ask_wrongly_and_ends_if_slurm_refuses_them_all(
    here: Path, resources: dict[str, Any], expected: str
) -> None:
    told()
    *lost, said = mistakes_of(a_run(**resources))
    assert lost == LOST
    assert expected in said
    (here / "refused").touch()
    with pytest.raises(UserError) as ended:
        list(mistakes_of(a_run(**resources)))
    (here / "refused").unlink()
    assert str(ended.value).startswith(said.partition(":")[0])


def test_a_run_for_an_account_of_others_ends_in_a_sentence(here: Path) -> None:
    told()
    with pytest.raises(UserError, match=r"account lap: .* in the profile, did you mean 'lab'\?"):
        list(mistakes_of(a_run(slurm_account="lap")))


def test_a_run_goes_on_while_the_controller_does_not_answer(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert list(mistakes_of(a_run())) == LOST
