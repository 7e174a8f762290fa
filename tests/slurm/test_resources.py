"""What a job asks of a cluster follows from its entry, and grows by attempt up to a ceiling."""

from types import SimpleNamespace

import pytest

from userturn.slurm.resources import Placement

ENTRY = {"gpus": 2, "nodes": 1, "mem_mb": 1000, "max_mem_mb": 1800, "runtime": 60}
JOB = SimpleNamespace(model="m")


def placement(**own: object) -> Placement:
    return Placement({"m": ENTRY | {"max_runtime": 150} | own})


@pytest.mark.parametrize(("attempt", "expected"), [(1, 1000), (2, 1500), (3, 1800), (9, 1800)])
def test_memory_grows_by_half_the_first_up_to_its_ceiling(attempt: int, expected: int) -> None:
    assert placement().mem_mb(JOB, attempt) == expected


@pytest.mark.parametrize(("attempt", "expected"), [(1, 60), (2, 120), (3, 150)])
def test_time_grows_by_the_first_up_to_its_ceiling(attempt: int, expected: int) -> None:
    assert placement().runtime(JOB, attempt) == expected


def test_a_ceiling_below_the_first_wish_changes_nothing() -> None:
    assert placement(runtime=200).runtime(JOB, 2) == 200


def test_cores_are_two_and_two_for_each_gpu_but_eight_at_least() -> None:
    assert [placement(gpus=n).threads(JOB) for n in (0, 3, 8)] == [8, 8, 18]


def test_any_type_of_gpu_will_do_unless_the_line_names_one() -> None:
    assert placement().gpu_model(JOB) == ""
    assert placement(gpu_model="h100").gpu_model(JOB) == "h100"


def test_gpus_of_several_nodes_are_asked_for_by_node() -> None:
    wide = placement(gpus=16, nodes=2, gpu_model="h100")
    assert (wide.gpu(JOB), wide.gpu_model(JOB), wide.gres(JOB)) == (0, "", "gpu:h100:8")
    assert placement(gpus=4, nodes=2).gres(JOB) == "gpu:2"
    assert placement(gpus=4).gres(JOB) == ""


def test_cores_are_counted_by_node() -> None:
    assert placement(gpus=16, nodes=2).threads(JOB) == 2 + 2 * 8


def test_a_judge_that_is_served_has_its_line_by_its_own_wildcard() -> None:
    assert Placement({"j": ENTRY}, "judge").gpu(SimpleNamespace(judge="j")) == 2
