"""Workers on the other nodes of a job; that they start and end there is tested on SLURM itself."""

import pytest

from userturn.errors import UserError
from userturn.models.multi_node import WORKER, start_workers, worker_command


def test_one_process_is_started_on_each_node_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "18")
    srun, *options = worker_command("7", "gpu4", 3, {"model": "m", "nnodes": 3})
    assert srun == "srun"
    assert options[-4:] == [*WORKER, '{"model": "m", "nnodes": 3}']
    where = {"--jobid=7", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--exclude=gpu4"}
    assert {*where, "--overlap", "--cpus-per-task=18"} <= set(options)


def test_model_over_several_nodes_outside_of_a_job_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(UserError, match=r"`nodes: 2` needs a SLURM job, and this is not one"):
        start_workers(2, {})
