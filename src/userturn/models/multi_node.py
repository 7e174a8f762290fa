"""Spread a model over several nodes of one SLURM job, with vLLM workers on the other nodes.

Snakemake's SLURM plugin runs a job's process on its first node. That process loads the first
layers itself and has SLURM start one process on each other node to load the rest.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from userturn.errors import UserError
from userturn.logs import say
from userturn.processes import end_with_parent

WORKER = [sys.executable, "-m", "userturn.models.multi_node"]
SECONDS_TO_DRAIN = 10  # a signal to the whole job ends workers at once, and a sweep soon after
# The other variables of SLURM describe only this step.
PASSED_ON = {"SLURM_CONF", "SLURM_JOB_ID", "SLURM_CLUSTER_NAME"}


def worker_command(job: str, node: str, n_nodes: int, settings: Mapping[str, Any]) -> list[str]:
    """Return the command that starts a worker on every node of a job but `node`."""
    n_others = n_nodes - 1
    step = [
        f"--jobid={job}",
        "--overlap",
        f"--nodes={n_others}",
        f"--ntasks={n_others}",
        "--ntasks-per-node=1",
        f"--exclude={node}",
        f"--cpus-per-task={os.environ.get('OMP_NUM_THREADS', '1')}",
        "--cpu-bind=none",
        "--kill-on-bad-exit=1",
    ]
    return ["srun", *step, *WORKER, json.dumps(settings)]


def start_workers(n_nodes: int, settings: Mapping[str, Any]) -> None:
    """Start a worker on every other node of this job, all of which end with this process.

    If they end first, this process ends too, because vLLM would wait for them for ever. Every
    finished request is then in the journal.

    Raises:
        UserError: this process is not part of a SLURM job.
    """
    job, node = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURMD_NODENAME")
    if not job or not node:
        raise UserError(
            f"a model with `nodes: {n_nodes}` needs a SLURM job, and this is not one; run "
            "`snakemake --profile slurm`, or set `nodes: 1` in the model's entry"
        )
    workers = subprocess.Popen(
        worker_command(job, node, n_nodes, settings),
        env={k: v for k, v in os.environ.items() if not k.startswith("SLURM_") or k in PASSED_ON},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=end_with_parent,
    )
    ending = threading.Event()
    atexit.register(_end, workers, ending)
    threading.Thread(target=_watch, args=(workers, ending), daemon=True).start()


def _end(workers: subprocess.Popen[bytes], ending: threading.Event) -> None:
    ending.set()
    workers.terminate()  # srun passes the signal on to its step
    workers.wait()


def _watch(workers: subprocess.Popen[bytes], ending: threading.Event) -> None:
    code = workers.wait()
    if not ending.wait(SECONDS_TO_DRAIN):
        say(f"error: vLLM's workers on the other nodes ended with code {code}; see this rule's log")
        os._exit(1)


def settings_of_nodes(n_nodes: int) -> dict[str, Any]:
    """Return vLLM's settings for a model over several nodes, with a free port of this node."""
    from vllm.utils.network_utils import get_ip, get_open_port

    return {
        "nnodes": n_nodes,
        "pipeline_parallel_size": n_nodes,
        "distributed_executor_backend": "mp",
        "master_addr": get_ip(),
        "master_port": get_open_port(),
    }


def run_worker(settings: Mapping[str, Any]) -> None:
    """Load this node's layers and serve them until the first node ends."""
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.executor.multiproc_executor import MultiprocExecutor

    rank = int(os.environ["SLURM_PROCID"]) + 1
    config = EngineArgs(**settings, node_rank=rank).create_engine_config(headless=True)
    MultiprocExecutor(config, monitor_workers=False).start_worker_monitor(inline=True)


if __name__ == "__main__":
    run_worker(json.loads(sys.argv[1]))
