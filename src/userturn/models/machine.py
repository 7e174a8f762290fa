"""The hardware of this machine, how a model is placed on it, and about how long it runs."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter

import numpy as np
import psutil

from userturn.errors import UserError
from userturn.models.engine_setup import Setup
from userturn.models.setup_gpus import GIB, weight_bytes
from userturn.models.setup_refusals import refusals
from userturn.models.whole_model import check_weight_files

# A process of its own, since PyTorch keeps some memory of a GPU that it has looked at. ROCm and
# CUDA are asked alike.
LOOK = (
    "import json, torch; print(json.dumps([[one.name, one.total_memory] for one in map("
    "torch.cuda.get_device_properties, range(torch.cuda.device_count()))]))"
)
ON_A_CPU = 4096  # longest text there, unless the model takes less
ON_A_GPU = 16384
FREE = 0.8  # share of a machine's memory that weights may take
SECONDS_TO_LOAD = 60.0  # of an engine, its compilation included
# ASSUMED, for want of a measurement: what a batch reaches of a card of 80 GB with 1e15 operations
# and 3e12 bytes a second.
GPU_FLOPS, GPU_BYTES = 4e14, 2e12
WRITTEN_TOGETHER = 256  # texts; as many as vLLM's default
CPU_SHARE = 0.25  # of the speed of one large product of matrices


@dataclass(frozen=True)
class Machine:
    """The machine that runs a model."""

    gpus: tuple[tuple[str, int], ...]  # name and bytes of memory of each
    memory: int  # bytes that this process may use

    @cached_property
    def flops(self) -> float:
        """Operations per second of the CPU, measured by a product of matrices."""
        size, n = 1024, 8
        one = np.ones((size, size), np.float32)
        one @ one
        began = perf_counter()
        for _ in range(n):
            one @ one
        return 2.0 * n * size**3 / (perf_counter() - began)


def this_machine() -> Machine:
    """Return this machine, without GPUs if PyTorch sees none."""
    seen = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True)
    try:
        gpus = json.loads(seen.stdout.strip().rpartition("\n")[2])
    except ValueError:
        gpus = []
    return Machine(tuple((str(name), int(size)) for name, size in gpus), _memory())


def _memory() -> int:
    """Return the bytes of memory that the machine and the cgroup allow this process."""
    limits = [int(psutil.virtual_memory().total)]
    for path in ("memory.max", "memory/memory.limit_in_bytes"):
        file = Path("/sys/fs/cgroup", path)
        if file.is_file() and (text := file.read_text().strip()).isdecimal():
            limits.append(int(text))
    return min(limits)


def placed(what: str, folder: Path, machine: Machine, has_weights: bool) -> Setup:
    """Return the setup of a model on a machine: engine, GPUs, number type and longest text.

    It is the first engine, with the smallest number of GPUs, that nothing is known to rule out.

    Args:
        what: name of the model in a sentence, such as `model 'mine'`.
        folder: folder of its config.json.
        machine: machine to load it on.
        has_weights: whether its weights are in the folder, too. Otherwise its index counts.

    Raises:
        UserError: no engine can load it here, with the first reason.
    """
    if has_weights:
        check_weight_files(folder)
    reasons = []
    for setup in _setups(what, folder, machine, has_weights):
        reason = next(refusals(setup), None) or _too_large(setup, machine)
        if reason is None:
            return setup
        reasons.append(reason)
    if not reasons:
        raise UserError(
            f"{what}: neither vLLM nor transformers is installed, one of which has to load it; "
            "install `userturn[vllm]` or `userturn[transformers]`, or give a server's address"
        )
    raise UserError(f"{what}: {reasons[0]}")


def _setups(what: str, folder: Path, machine: Machine, has_weights: bool) -> Iterator[Setup]:
    """Yield the setups to try, the best first."""
    asked = ON_A_GPU if machine.gpus else ON_A_CPU
    plain = Setup(what, None, folder, asked, False, has_weights=has_weights)
    own = plain.architecture.whole
    own_dtype = str(
        own.get("dtype") or own.get("torch_dtype") or plain.architecture.text.get("dtype")
    )
    dtypes = (
        ["float16" if own_dtype == "float16" else "bfloat16"]
        if machine.gpus
        else ["float32", "bfloat16"]
    )
    for engine in ("vllm", "transformers"):
        if importlib.util.find_spec(engine) is None:
            continue
        counts = [n for n in (1, 2, 4, 8) if n <= len(machine.gpus)] or [0]
        for n in counts if engine == "vllm" else counts[:1]:
            card = min((size for _, size in machine.gpus), default=0) // GIB
            for dtype in dtypes:
                yield replace(
                    plain,
                    engine=engine,
                    gpus=n,
                    gpu_model=f"{card}gb" if n else None,
                    dtype=dtype,
                    max_model_len=plain.longest_text,
                )


def _too_large(setup: Setup, machine: Machine) -> str | None:
    needed, there = weight_bytes(setup), FREE * machine.memory
    if setup.gpus or needed <= there:
        return None
    return (
        f"its weights take {needed / GIB:.0f} GB as {setup.dtype}, and this machine has "
        f"{there / GIB:.0f} GB for it; run it on a machine with a GPU or more memory, or name a "
        "smaller or quantised model"
    )


def seconds_to_write(setup: Setup, machine: Machine, n_read: float, n_written: float) -> float:
    """Return about how many seconds a model takes to start, read and write so many tokens.

    For GPUs nothing is measured, so the result is an assumption.
    """
    size = weight_bytes(setup)
    n_numbers = size / (4 if setup.dtype == "float32" else 2)
    if setup.gpus:
        return seconds_on_gpus(size, n_numbers, n_read, n_written, setup.parts)
    work = 2 * n_numbers * (n_read + n_written)
    return SECONDS_TO_LOAD + work / (CPU_SHARE * machine.flops)


def seconds_on_gpus(
    size: float, n_active: float, n_read: float, n_written: float, n_gpus: int
) -> float:
    """Return about how many seconds a model on GPUs takes to start, read and write, as assumed.

    Args:
        size: bytes of its weights, which each step of a batch reads.
        n_active: number of weights that are used for a token.
        n_read: number of prompt tokens, with those that prompts share counted each time.
        n_written: number of tokens of continuations.
        n_gpus: number of GPUs that share each layer.
    """
    compute = 2 * n_active * (n_read + n_written) / GPU_FLOPS
    reading = n_written / WRITTEN_TOGETHER * size / GPU_BYTES
    return SECONDS_TO_LOAD + (compute + reading) / n_gpus
