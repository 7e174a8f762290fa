"""What surrounds a job: code, machine, versions, devices and place on a cluster."""

import os
import platform
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from userturn.storage.hashing import file_sha256, fingerprint

# What an artifact may depend on; recorded if the job has imported it.
PACKAGES = (
    "altair",
    "datasets",
    "numpy",
    "openai",
    "peft",
    "polars",
    "scipy",
    "snakemake",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
    "vl_convert",
    "vllm",
)
PLACED = ("SLURM_JOB_ID", "SLURM_JOB_PARTITION", "SLURMD_NODENAME", "CUDA_VISIBLE_DEVICES")


@cache
def code_sha256() -> str:
    """Return one hash of this package's modules: the code's version, committed or not."""
    package = Path(__file__).parent.parent
    modules = sorted(package.rglob("*.py"))
    return fingerprint([[str(path.relative_to(package)), file_sha256(path)] for path in modules])


def _commit() -> str | None:
    """Return the commit of this package's code, or None if no repository has it."""
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        known = subprocess.run(
            [*git, "ls-files", "--error-unmatch", here.name], capture_output=True
        )
        found = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    except OSError:
        return None
    return (found.stdout.strip() or None) if known.returncode == 0 else None


def _version(package: str) -> str | None:
    module = sys.modules.get(package)
    found = getattr(module, "__version__", None)
    try:
        return str(found) if found else version(package.replace("_", "-"))
    except PackageNotFoundError:
        return None


def _devices() -> list[str]:
    """Return the names of the GPUs that a job's engine saw."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def surroundings() -> dict[str, Any]:
    """Return what surrounds this process, for its record."""
    versions = {name: _version(name) for name in PACKAGES if name in sys.modules}
    return {
        "code_sha256": code_sha256(),
        "commit": _commit(),
        "host": platform.node(),
        "system": platform.platform(),
        "versions": {"python": platform.python_version(), **versions},
        "devices": _devices(),
        "placed": {name: os.environ[name] for name in PLACED if name in os.environ},
    }
