"""What a job asks of a cluster follows from its entry, and grows by what it ran out of."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from userturn.config import job_resources
from userturn.config.job_resources import SETTINGS, Resources, note_end
from userturn.errors import note_error

ENTRY: Any = {"gpus": 2, "nodes": 1, "mem_mb": 1000, "max_mem_mb": 1800, "runtime": 60}
JOB = SimpleNamespace(model="m")
LOG = "logs/sweep/{wildcards.model}.log"


def entry(**own: object) -> Any:
    return ENTRY | {"max_runtime": 150} | own


@pytest.fixture(autouse=True)
def no_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_resources, "_ends", {})


def ended(*lacked: str) -> None:
    """Note how the attempts at the job ended that ran out of something."""
    for what in lacked:
        note_end("logs/sweep/m.log", what)


def asked(name: str, attempt: int = 1, **own: object) -> int | str:
    return Resources({"m": entry(**own)}, LOG).functions()[name](JOB, attempt)


def cores(**own: object) -> int:
    return Resources({"m": entry(**own)}, LOG).threads(JOB)


@pytest.mark.parametrize(("n_ends", "expected"), [(0, 1000), (1, 1500), (2, 1800), (8, 1800)])
def test_memory_grows_by_half_the_first_up_to_its_ceiling(n_ends: int, expected: int) -> None:
    ended(*["memory"] * n_ends)
    assert asked("mem_mb", n_ends + 1) == expected


@pytest.mark.parametrize(("n_ends", "expected"), [(0, 60), (1, 120), (2, 150)])
def test_time_grows_by_the_first_up_to_its_ceiling(n_ends: int, expected: int) -> None:
    ended(*["time"] * n_ends)
    assert asked("runtime", n_ends + 1) == expected


def test_a_retry_asks_for_more_of_what_its_job_ran_out_of_alone() -> None:
    assert (asked("mem_mb", 3), asked("runtime", 3)) == (1000, 60)  # it was cancelled twice
    ended("time")
    assert (asked("mem_mb", 4), asked("runtime", 4)) == (1000, 120)
    ended("memory")
    assert (asked("mem_mb", 5), asked("runtime", 5)) == (1500, 120)


def test_a_ceiling_below_the_first_wish_changes_nothing() -> None:
    ended("time")
    assert asked("runtime", 2, runtime=200) == 200


def test_cores_are_two_and_two_for_each_gpu_but_eight_at_least() -> None:
    assert [cores(gpus=n) for n in (0, 3, 8)] == [8, 8, 18]


def test_any_type_of_gpu_will_do_unless_the_entry_names_one() -> None:
    assert asked("gpu_model") == ""
    assert asked("gpu_model", gpu_model="h100") == "h100"


def test_gpus_of_several_nodes_are_asked_for_by_node() -> None:
    wide = {"gpus": 16, "nodes": 2, "gpu_model": "h100"}
    found = [asked(name, **wide) for name in ("gpu", "gpu_model", "gres")]
    assert found == [0, "", "gpu:h100:8"]
    assert asked("gres", gpus=4, nodes=2) == "gpu:2"
    assert asked("gres", gpus=4) == ""


def test_cores_are_counted_by_node() -> None:
    assert cores(gpus=16, nodes=2) == 2 + 2 * 8


def test_a_judge_that_is_served_has_its_entry_by_its_own_wildcard() -> None:
    of_judge = Resources({"j": entry()}, LOG, "judge").functions()
    assert of_judge["gpu"](SimpleNamespace(judge="j"), 1) == 2


def test_every_setting_is_for_a_rule_that_loads_a_model() -> None:
    assert {rule for setting in SETTINGS.values() for rule in setting.rules} == {
        "sweep",
        "train",
        "serve_judge",
    }


def test_a_retry_that_would_meet_the_same_error_asks_for_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    note_error("logs/sweep/m.log", "the disk is full")
    assert [asked("gpu", attempt, gpu_model="h100") for attempt in (1, 2, 3)] == [2, 0, 0]
    assert [asked("gpu_model", attempt, gpu_model="h100") for attempt in (1, 2)] == ["h100", ""]
    assert asked("gres", 2, nodes=2) == ""


class Default:
    """A resource of the profile, as Snakemake has it: an expression over wildcards."""

    def evaluate(self, wildcards: Any, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(value=f"gpu-of-{wildcards.model}")


def test_a_model_s_own_partition_stands_above_the_profile_s_which_others_keep() -> None:
    entries = {"big": entry(partition="large", qos="long"), "m": entry()}
    of_job = Resources(entries, LOG).functions({"slurm_partition": Default()})
    assert [of_job["slurm_partition"](SimpleNamespace(model=name), 1) for name in entries] == [
        "large",
        "gpu-of-m",
    ]
    assert [of_job["qos"](SimpleNamespace(model=name), 1) for name in entries] == ["long", ""]
    assert "constraint" not in of_job


def test_without_an_entry_that_names_a_place_all_is_left_to_the_profile() -> None:
    assert {"slurm_partition", "slurm_account", "qos"}.isdisjoint(
        Resources({"m": entry()}, LOG).functions()
    )
