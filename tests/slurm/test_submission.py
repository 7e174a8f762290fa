"""What the doctor asks sbatch is what Snakemake will ask, with everything that the profile sets."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.errors import UserError
from userturn.slurm.submission import as_words, job_options, n_attempts, read_profile

ENTRY: Any = {
    "gpus": 1,
    "nodes": 1,
    "mem_mb": 1000,
    "max_mem_mb": 9000,
    "runtime": 60,
    "max_runtime": 90,
}
BY_MODEL = "'urgent' if wildcards.model == 'big' else 'gpu'"
DEFAULTS = {"default-resources": {"slurm_partition": "cpu", "slurm_account": "lab"}}


def options(attempt: int = 1, **profile: Any) -> dict[str, str]:
    named = {key.replace("_", "-"): value for key, value in profile.items()}
    return job_options(DEFAULTS | named, "sweep", ENTRY, attempt, "big")


def test_defaults_and_entry_are_asked_for_and_grow_by_attempt() -> None:
    assert as_words(options()) == [
        *("--account=lab", "--partition=cpu", "--gpus=1", "--nodes=1"),
        *("--mem=1000", "--time=60", "--cpus-per-task=8"),
    ]
    # Half of the first memory more, and as much time again up to the ceiling.
    assert [options(2)[name] for name in ("--mem", "--time")] == ["1500", "90"]


@pytest.mark.parametrize(
    ("profile", "name", "expected"),
    [
        ({"set_resources": {"sweep": {"slurm_partition": "gpu"}}}, "--partition", "gpu"),
        ({"set_resources": {"train": {"slurm_partition": "gpu"}}}, "--partition", "cpu"),
        ({"set_resources": {"sweep": {"runtime": 30}}}, "--time", "30"),
        ({"set_resources": {"sweep": {"runtime": "2h"}}}, "--time", "120"),
        ({"set_resources": {"sweep": {"runtime": "90"}}}, "--time", "90"),
        ({"set_resources": {"sweep": {"mem": "8GB"}}}, "--mem", "8000"),
        ({"set_resources": ["train:runtime=9", "sweep:runtime=30"]}, "--time", "30"),
        ({"set_resources": {"sweep": {"gpu": 0, "gres": "'gpu:h100:1'"}}}, "--gres", "gpu:h100:1"),
        ({"set_resources": {"sweep": {"gpu": 0, "gres": "'gpu:h100:1'"}}}, "--gpus", None),
        (
            {"set_resources": {"sweep": {"slurm_extra": "'--signal=USR1@120'"}}},
            "--signal",
            "USR1@120",
        ),
        ({"set_resources": {"sweep": {"qos": "long"}}}, "--qos", "long"),
        ({"slurm_qos": "short"}, "--qos", "short"),
        ({"slurm_reservation": "mine"}, "--reservation", "mine"),
        ({"set_threads": {"sweep": 4}}, "--cpus-per-task", "4"),
        ({"default_resources": ["slurm_partition=gpu"]}, "--partition", "gpu"),
        ({"set_resources": {"sweep": {"slurm_partition": BY_MODEL}}}, "--partition", "urgent"),
        ({"default_resources": [f"slurm_partition={BY_MODEL}"]}, "--partition", "urgent"),
        ({"set_resources": {"sweep": {"runtime": "attempt * 20"}}}, "--time", "20"),
        ({"set_resources": {"sweep": {"qos": "n1-standard-4"}}}, "--qos", "n1-standard-4"),
    ],
)
def test_what_the_profile_sets_is_asked_for(
    profile: dict[str, Any], name: str, expected: str | None
) -> None:
    assert options(**profile).get(name) == expected


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, ["--gpus=1"]),
        ({"gpus": 0}, []),
        ({"gpu_model": "h100"}, ["--gpus=h100:1"]),
        ({"gpus": 4, "nodes": 2}, ["--gres=gpu:2"]),
    ],
)
def test_gpus_are_those_of_the_entry(own: dict[str, Any], expected: list[str]) -> None:
    asked = as_words(job_options({}, "sweep", ENTRY | own, 1))
    assert [word for word in asked if word.startswith("--g")] == expected


def test_training_by_the_shipped_profile_is_warned_ten_minutes_before_its_end() -> None:
    asked = job_options(read_profile(ROOT / "profiles/slurm"), "train", ENTRY, 1)
    assert asked["--signal"] == "USR1@600"


def test_every_retry_is_an_attempt() -> None:
    profiles = ({}, {"retries": 2}, {"restart-times": 3})
    assert [n_attempts(profile) for profile in profiles] == [1, 3, 4]


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ({"retries": "two"}, "the profile's retries is 'two', expected a whole number"),
        ({"set-resources": {"sweep": {"runtime": "soon"}}}, "the profile's runtime is 'soon'"),
        ({"set-resources": {"sweep": {"mem": "much"}}}, "the profile's mem is 'much', expected"),
        ({"set-resources": {"sweep": {"qos": "wildcards.modl"}}}, "qos is 'wildcards.modl', which"),
        ({"default-resources": {"slurm_partition": "all"}}, "quote it twice: \"'all'\""),
    ],
)
def test_number_of_a_profile_that_is_none_is_refused(profile: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        n_attempts(profile)
        job_options(profile, "sweep", ENTRY, 1)


def test_profile_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        read_profile(tmp_path)


def test_place_of_an_entry_stands_between_the_profile_s_defaults_and_its_rule() -> None:
    own = ENTRY | {"partition": "large", "account": "group", "constraint": "a100|h100"}
    asked = job_options(DEFAULTS, "sweep", own, 1)
    assert [asked[f"--{key}"] for key in ("partition", "account", "constraint")] == [
        *("large", "group", "a100|h100")
    ]
    profile = DEFAULTS | {"set-resources": {"sweep": {"slurm_partition": "urgent"}}}
    assert job_options(profile, "sweep", own, 1)["--partition"] == "urgent"
