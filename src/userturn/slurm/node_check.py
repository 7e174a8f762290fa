"""The check of a compute node, which the doctor runs there as a program of its own."""

import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from userturn.config.load import INSTALLATION
from userturn.errors import UserError, write_trouble
from userturn.models.fetch import model_folder
from userturn.models.scratch import SCRATCH, scratch_folder
from userturn.storage.files import alone, write_text

GPU_CHECK = [sys.executable, str(INSTALLATION / "benchmarks/vllm_on_gpu.py")]
SHARED_MEMORY = 1_000_000_000  # bytes: what vLLM's workers pass each other goes through it


def look(question: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield (name, trouble) of each check, with None or a sentence on the fault and its fix."""
    node = os.environ.get("SLURMD_NODENAME", socket.gethostname())
    yield f"{node} sees the project's folder", None
    results = Path(question["results"])
    mount = f"mount '{results.resolve()}' writable on compute nodes"
    yield f"{node} writes the results", write_trouble(results, mount)
    if question["needs_locks"]:
        yield f"{node} locks files in the results", lock_trouble(results)
    yield f"{node} imports {question['engine']}", _import(question["engine"])
    yield from ((f"{node} {what}", trouble) for what, trouble in _devices())
    for model, entry in question["models"].items():
        yield f"{node} has {model}", _model(entry["source"], entry["revision"])
        if entry["local_weights"]:
            fits = _scratch_trouble(entry["source"], entry["revision"])
            yield f"{node} has room on its own disk for {model}", fits
    for dataset, path in question["datasets"].items():
        fix = "run `snakemake --profile slurm download` on the login node"
        yield f"{node} has dataset {dataset}", None if Path(path).is_file() else fix
    yield f"{node} has a free port on 127.0.0.1", _port()
    if question["tries_gpu"]:
        text, trouble = _gpu_check()
        yield f"{node} writes texts on its GPU\n{text}", trouble


def lock_trouble(results: Path) -> str | None:
    """Return why no file can be locked in a study's results on this machine, or None."""
    path = results / f".doctor-{uuid.uuid4().hex}"
    try:
        with alone(path):
            path.unlink()
    except (UserError, OSError) as error:
        return str(error)
    finally:
        path.unlink(missing_ok=True)
    return None


def _import(engine: str) -> str | None:
    try:
        importlib.import_module(engine)
    except Exception as error:  # a missing driver may raise anything
        return (
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}; run "
            f"`make setup` on a node of that kind (this Python is {sys.executable})"
        )
    return None


def _devices() -> Iterator[tuple[str, str | None]]:
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        n_visible, n_seen = len(visible.split(",")), torch.cuda.device_count()
        other = (
            f"PyTorch {torch.__version__} sees {n_seen}; check driver and `make setup`, whose lock "
            "for NVIDIA GPUs has to be the one in use"
        )
        yield (
            f"computes on the {n_visible} GPU it was given",
            None if n_seen == n_visible else other,
        )
    free = shutil.disk_usage("/dev/shm").free if Path("/dev/shm").is_dir() else SHARED_MEMORY
    few = f"{free / 1e6:.0f} MB; models on several GPUs need more: ask your administrator"
    yield "has shared memory", None if free >= SHARED_MEMORY else few


def _model(source: str, revision: str | None) -> str | None:
    try:
        model_folder(source, revision)
    except UserError as error:
        return (
            f"{error}; run `snakemake --profile slurm download`, with HF_HOME on a file system "
            "that nodes share"
        )
    return None


def _scratch_trouble(source: str, revision: str | None) -> str | None:
    try:
        folder = model_folder(source, revision)
        copy, size = scratch_folder(folder)
    except UserError as error:
        return str(error)
    root = copy.parent.parent
    free = shutil.disk_usage(root).free
    if copy.exists() or size <= free:
        return None
    return (
        f"its weights are {size / 1e9:.1f} GB, and '{root}' has {free / 1e9:.1f} GB free; set "
        f"{SCRATCH} to a larger disk of the node, or leave local_weights out"
    )


def _port() -> str | None:
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
    except OSError as error:
        return f"{error}; vLLM's workers need one to find each other"
    return None


def _gpu_check() -> tuple[str, str | None]:
    done = subprocess.run(GPU_CHECK, text=True, capture_output=True)
    if done.returncode == 0:
        return done.stdout.strip(), None
    last = (done.stderr.strip() or "no reason").splitlines()[-1]
    return done.stdout.strip(), f"{last}; `make check-gpu` in a job of your own shows all of it"


def main(path_to_question: str, path_to_answer: str) -> None:
    """Read the question from one file and write the answers to another."""
    question = json.loads(Path(path_to_question).read_text())
    os.environ["HF_HUB_OFFLINE"] = "1"  # a file that would be downloaded counts as missing
    answers = dict(look(question))
    write_text(json.dumps(answers, indent=1) + "\n", path_to_answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
