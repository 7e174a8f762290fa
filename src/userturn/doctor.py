"""The doctor: tells what would fail on a cluster before any GPU is waited for.

Login node and scheduler are asked directly; a compute node is asked by a short job of its own
(`node_check`), submitted as sweeps are.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from userturn.config import check, load_config
from userturn.errors import UserError
from userturn.grid import Grid
from userturn.placement import Placement
from userturn.trained import training_line

COMMANDS = ("sbatch", "squeue", "scancel")
FOLDER = Path("logs", "doctor")
NODE_CHECK = ["--nodes=1", "--mem=8000", "--time=5", "--cpus-per-task=2", "--export=ALL"]


class Finding(NamedTuple):
    """One thing looked at; `trouble` says what is wrong and what to do, None that all is well."""

    what: str
    trouble: str | None = None


class SickClusterError(UserError):
    """Something that would make a run fail."""


def doctor(profile: str, configfiles: list[str], results: str, patience: int) -> str:
    """Return what was looked at, one line a finding.

    Args:
        profile: folder of the Snakemake profile.
        configfiles: of the study, beside config.yaml.
        results: folder of the study's results.
        patience: seconds that the job on a compute node may take, waiting in the queue included.

    Raises:
        SickClusterError: with the same lines, where something is wrong.
    """
    config = load_config(["config.yaml", *configfiles])
    check(config)
    grid = Grid(config, results)
    findings = list(examine(grid, _submission(Path(profile)), patience))
    lines = [f"{'FAIL' if f.trouble else 'ok  '} {f.what}" + _tail(f) for f in findings]
    n_bad = sum(finding.trouble is not None for finding in findings)
    text = "\n".join(lines)
    if n_bad:
        raise SickClusterError(f"{n_bad} of {len(findings)} things would fail\n{text}")
    return text


def _tail(finding: Finding) -> str:
    return f": {finding.trouble}" if finding.trouble else ""


def _submission(profile: Path) -> list[str]:
    """Return the account and partition that a profile gives every job, as sbatch options."""
    path = profile / "config.yaml"
    if not path.is_file():
        raise UserError(f"profile '{path}' does not exist; run this in the project's folder")
    resources = (yaml.safe_load(path.read_text()) or {}).get("default-resources", {})
    options = {"slurm_account": "--account", "slurm_partition": "--partition"}
    return [f"{option}={resources[key]}" for key, option in options.items() if key in resources]


def examine(grid: Grid, submission: list[str], patience: int) -> Iterator[Finding]:
    """Look at keys, the scheduler, every model's resources, and one compute node."""
    yield from _keys(grid)
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        yield Finding(
            "SLURM's commands",
            f"{', '.join(missing)} not found; run this on a login node (one machine alone needs no "
            "SLURM: `snakemake --cores all`)",
        )
        return
    yield Finding("SLURM's commands")
    refused = False
    for finding in _requests(grid, submission):
        refused = refused or finding.trouble is not None
        yield finding
    if not refused:
        yield from _node(grid, submission, patience)


def _keys(grid: Grid) -> Iterator[Finding]:
    """Look for the environment variables that hold the judges' keys."""
    for name, judge in grid.judges.items():
        variable = judge.get("key_variable")
        if variable is not None:
            here = bool(os.environ.get(variable))
            mend = f"{variable} is not set; export it in the shell that starts Snakemake"
            yield Finding(f"key of judge {name}", None if here else mend)


def sbatch_options(placement: Placement, name: str, submission: list[str]) -> list[str]:
    """Return what a job asks of sbatch in its first attempt."""
    job = _Job(name)
    gpu, gpu_model, gres = placement.gpu(job), placement.gpu_model(job), placement.gres(job)
    gpus = f"{gpu_model}:{gpu}" if gpu_model else str(gpu)
    return [
        *submission,
        *([f"--gpus={gpus}"] if gpu else []),
        *([f"--gres={gres}"] if gres else []),
        f"--nodes={placement.nodes(job)}",
        f"--mem={placement.mem_mb(job, 1)}",
        f"--time={placement.runtime(job, 1)}",
        f"--cpus-per-task={placement.threads(job)}",
    ]


class _Job(NamedTuple):
    model: str


def _loaded(grid: Grid) -> dict[str, dict[str, Any]]:
    """Return the lines of all that a job of its own loads: models, trainings, served judges."""
    defaults = grid.config["model_defaults"]
    served = {name: line for name, line in grid.judges.items() if line.get("serve")}
    lines = {f"model {name}": line for name, line in grid.models.items()}
    trained = {name: grid.lines[name] for name in grid.described if "recipe" in grid.lines[name]}
    lines |= {f"training of {name}": training_line(line) for name, line in trained.items()}
    for name, line in served.items():
        lines[f"judge {name}"] = {**defaults, **line, "source": line["model"]}
    return lines


def _requests(grid: Grid, submission: list[str]) -> Iterator[Finding]:
    """Have the scheduler say whether it would take each job; those alike but once."""
    lines = _loaded(grid)
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in lines:
        wishes = sbatch_options(Placement(lines), name, submission)
        alike.setdefault(tuple(wishes), []).append(name)
    for options, names in alike.items():
        done = _run(["sbatch", "--test-only", *options, "--wrap", "true"])
        wish = " ".join(options)
        yield Finding(
            f"job of {', '.join(names)} ({wish})",
            None
            if done.returncode == 0
            else f"sbatch says '{_reason(done.stderr)}'; mend account and partition in the "
            "profile, or gpus, gpu_model, mem_mb and runtime in the model's line "
            "(cores: `set-threads` in the profile)",
        )


def _run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, text=True, capture_output=True, check=False, **options)


def _reason(said: str) -> str:
    """Return the first error that a SLURM command wrote."""
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line or "failure" in line] or lines
    return errors[0].strip() if errors else "nothing"


def _node(grid: Grid, submission: list[str], patience: int) -> Iterator[Finding]:
    """Have a compute node say what it sees of project, models, datasets, engine and devices."""
    name = uuid.uuid4().hex[:8]
    FOLDER.mkdir(parents=True, exist_ok=True)
    question, answer = FOLDER / f"{name}.question.json", FOLDER / f"{name}.answer.json"
    question.write_text(json.dumps(_question(grid)))
    gpus = ["--gpus=1"] if any(line["gpus"] for line in _loaded(grid).values()) else []
    command = [sys.executable, "-m", "userturn.node_check", str(question), str(answer)]
    called = [f"--job-name=userturn-doctor-{name}", f"--output={FOLDER / name}.log"]
    wrapped = ["--wrap", shlex.join(command)]
    job = _run(["sbatch", "--parsable", *submission, *gpus, *NODE_CHECK, *called, *wrapped])
    if job.returncode:
        yield Finding("a job on a compute node", f"sbatch says '{_reason(job.stderr)}'")
        return
    yield from _answers(job.stdout.strip(), answer, patience)


def _question(grid: Grid) -> dict[str, Any]:
    models = {}
    for name, line in _loaded(grid).items():
        if "recipe" in line:  # its folder is yet to be made
            continue
        path = grid.results / "models" / f"{name.removeprefix('model ')}.json"
        noted = json.loads(path.read_text())["revision"] if path.is_file() else None
        models[name] = {"source": line["source"], "revision": noted or line["revision"]}
    return {
        "engine": grid.config["engine"],
        "results": str(grid.results),
        "models": models,
        "datasets": {name: str(grid.dataset_path(name)) for name in grid.datasets},
    }


def _answers(job: str, answer: Path, patience: int) -> Iterator[Finding]:
    what = f"a job on a compute node (SLURM job {job})"
    state = _wait(job, answer, patience)
    if answer.is_file():
        found: Mapping[str, str | None] = json.loads(answer.read_text())
        yield from (Finding(key, value) for key, value in found.items())
    elif state is None:
        _run(["scancel", job])
        yield Finding(what, f"did not run within {patience} s; the queue may be long: try again")
    else:
        yield Finding(
            what,
            f"ended but left no '{answer}'; the project's folder '{Path.cwd()}' must be on a file "
            f"system that compute nodes share, and so must the Python in use ({sys.executable})",
        )


def _wait(job: str, answer: Path, patience: int) -> str | None:
    """Wait for a job to end; None where it had not ended in time."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        queued = _run(["squeue", "--noheader", "--format=%T", "--jobs", job]).stdout.strip()
        if answer.is_file() or queued in ("", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"):
            time.sleep(1)  # a shared file system may show the file a moment later
            return queued or "gone"
        time.sleep(1)
    return None
