"""The doctor: finds what would fail on a cluster before any job waits for a GPU.

The login node and the scheduler (`scheduler.py`) are checked directly; a compute node is checked by
a short job (`node_check.py`), submitted like a sweep.
"""

import json
import shlex
import shutil
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from userturn.endpoints.api_keys import read_key
from userturn.errors import UserError, cache_folder, full_folders, hub_cache, write_trouble
from userturn.judges.check_entries import check_served_judge
from userturn.slurm.limits import accounting, look_at_limits, look_at_qos, owners_of
from userturn.slurm.mistakes import misnamed, unknown_options
from userturn.slurm.node_check import lock_trouble
from userturn.slurm.scheduler import (
    JOB,
    CheckResult,
    NoSchedulerError,
    attempts_of,
    entries_of_jobs,
    kinds_of_nodes,
    look_at_accounts,
    look_at_job_age,
    look_at_preemption,
    look_at_requests,
    partitions,
    reason,
    run,
)
from userturn.slurm.submission import Options, Profile, as_words, read_profile
from userturn.study.grid import Grid
from userturn.study.model_description import look_at_model
from userturn.workflow.downloads import too_large
from userturn.workflow.jobs import every_job

COMMANDS = ("sbatch", "squeue", "scancel", "scontrol")
FOLDER = Path("logs", "doctor")
ROOM = 1_000_000_000  # bytes that should be free on each disk
SIZED = ("--gpus", "--gres", "--nodes", "--mem", "--time", "--cpus-per-task")
NODE_CHECK = ["--nodes=1", "--cpus-per-task=2", "--export=ALL"]
SHORT, OF_GPU = ["--mem=8000", "--time=5"], ["--mem=32000", "--time=30"]  # MB, minutes


def examine(grid: Grid, profile: Profile, patience: int, tries_gpu: bool) -> Iterator[CheckResult]:
    """Check keys, disks, the scheduler, every model's resources, and one compute node.

    Args:
        grid: of the study.
        profile: of Snakemake.
        patience: seconds that the job on a compute node may take, waiting in the queue included.
        tries_gpu: also have vLLM write texts there, as `make check-gpu` does.
    """
    yield from look_here(grid)
    if _needs_locks(grid):
        yield CheckResult("files can be locked in the results", lock_trouble(grid.results))
    missing = [name for name in COMMANDS if shutil.which(name) is None]
    if missing:
        yield CheckResult(
            "SLURM's commands",
            f"{', '.join(missing)} not found; run this on a login node (one machine alone needs no "
            "SLURM: `snakemake --cores all`)",
        )
        return
    yield CheckResult("SLURM's commands")
    unknown = "; ".join(unknown_options(profile))
    yield CheckResult("options in the profile are known", unknown or None)
    refused = False
    for finding in look_at_cluster(grid, profile):
        refused = refused or (finding.trouble is not None and finding.what.startswith(JOB))
        yield finding
    attempts = attempts_of(grid, profile)
    if not refused and attempts:
        yield from _node(grid, attempts[0].options, patience, tries_gpu)


def planned(grid: Grid, profile: Path) -> Iterator[CheckResult]:
    """Check what can be checked without any job; the cluster only where one is at hand."""
    yield from look_here(grid)
    if profile.is_dir() and all(map(shutil.which, COMMANDS)):
        with suppress(NoSchedulerError):  # there are only SLURM's clients
            yield from look_at_cluster(grid, read_profile(profile))


def look_here(grid: Grid) -> Iterator[CheckResult]:
    """Check keys, models and disks on this machine."""
    yield from _keys(grid)
    yield from _setups(grid)
    full = full_folders(grid.results, ROOM)
    what = f"at least {ROOM / 1e9:.0f} GB are free for results, models and temporary files"
    yield CheckResult(what, full and f"not in {full}; free some space there")
    caches = {"HF_HOME": hub_cache(), "USERTURN_CACHE": cache_folder()}
    for variable, folder in caches.items():
        trouble = write_trouble(folder, f"set {variable} to a folder that can be written")
        yield CheckResult(f"the folder of {variable} can be written", trouble)
    yield CheckResult("models to be downloaded fit on the disk", too_large(grid, grid.described))


def look_at_cluster(grid: Grid, profile: Profile) -> Iterator[CheckResult]:
    """Check the profile, and what the scheduler says of the study's jobs; none is submitted."""
    attempts, cluster, accounts = attempts_of(grid, profile), partitions(), accounting()
    lost = "; ".join(misnamed(profile, every_job()))
    yield CheckResult("rules and resources in the profile are known", lost or None)
    yield look_at_preemption(attempts, cluster)
    yield from filter(None, (look_at_job_age(profile), look_at_accounts(attempts)))
    yield from look_at_limits(attempts, owners_of(attempts, accounts), profile)
    yield from look_at_qos(attempts, accounts)
    yield from look_at_requests(attempts, cluster, kinds_of_nodes())


def _setups(grid: Grid) -> Iterator[CheckResult]:
    models = [name for name in grid.described if "recipe" not in grid.entries[name]]
    looks = {f"model {name}": partial(look_at_model, grid, name) for name in models}
    judges = {name: grid.all_judges[name] for name in grid.asked_judges}
    served = {name: entry for name, entry in judges.items() if entry.get("serve")}
    looks |= {f"judge {name}": partial(check_served_judge, name, e) for name, e in served.items()}
    for name, look in looks.items():
        try:
            look()
            yield CheckResult(f"{name} can be loaded, as far as its files are here")
        except UserError as error:
            yield CheckResult(f"{name} can be loaded", str(error))


def _keys(grid: Grid) -> Iterator[CheckResult]:
    asked = [("judge", name, grid.all_judges[name]) for name in grid.asked_judges]
    asked += [("model", name, dict(entry)) for name, entry in grid.models.items()]
    for kind, name, entry in asked:
        if entry.get("key_variable") is None:
            continue
        try:
            read_key(name, entry, kind)
            yield CheckResult(f"key of {kind} {name}")
        except UserError as error:
            yield CheckResult(f"key of {kind} {name}", str(error))


def _node(grid: Grid, options: Options, patience: int, tries_gpu: bool) -> Iterator[CheckResult]:
    name = uuid.uuid4().hex[:8]
    FOLDER.mkdir(parents=True, exist_ok=True)
    question, answer = FOLDER / f"{name}.question.json", FOLDER / f"{name}.answer.json"
    question.write_text(json.dumps(_question(grid) | {"tries_gpu": tries_gpu}))
    placement = {name: value for name, value in options.items() if name not in SIZED}
    needs_gpu = tries_gpu or any(entry["gpus"] for entry in entries_of_jobs(grid).values())
    gpus = ["--gres=gpu:1" if "--gres" in options else "--gpus=1"] if needs_gpu else []
    command = [sys.executable, "-m", "userturn.slurm.node_check", str(question), str(answer)]
    called = [f"--job-name=userturn-doctor-{name}", f"--output={FOLDER / name}.log"]
    wrapped = ["--wrap", shlex.join(command)]
    asked = [*as_words(placement), *gpus, *NODE_CHECK, *(OF_GPU if tries_gpu else SHORT)]
    job = run(["sbatch", "--parsable", *asked, *called, *wrapped])
    if job.returncode:
        yield CheckResult("a job on a compute node", f"sbatch says '{reason(job.stderr)}'")
        return
    yield from _answers(job.stdout.strip(), answer, patience)


def _needs_locks(grid: Grid) -> bool:
    """Return whether a judge is a model: its journal and budget are locked while it is asked."""
    return any("model" in judge for judge in grid.judges.values())


def _question(grid: Grid) -> dict[str, Any]:
    models = {}
    for name, entry in entries_of_jobs(grid).items():
        if "recipe" in entry:  # its folder does not exist yet
            continue
        path = grid.results / "models" / f"{name.removeprefix('model ')}.json"
        noted = json.loads(path.read_text())["revision"] if path.is_file() else None
        revision, copied = noted or entry["revision"], entry.get("local_weights", False)
        of = {"source": entry["source"], "revision": revision}
        models[name] = of | {"local_weights": copied}
    return {
        "engine": grid.config["engine"],
        "results": str(grid.results),
        "needs_locks": _needs_locks(grid),
        "models": models,
        "datasets": {name: str(grid.dataset_path(name)) for name in grid.datasets},
    }


def _answers(job: str, answer: Path, patience: int) -> Iterator[CheckResult]:
    what = f"a job on a compute node (SLURM job {job})"
    state, why = _wait(job, answer, patience)
    if answer.is_file():
        checks: Mapping[str, str | None] = json.loads(answer.read_text())
        yield from (CheckResult(key, value) for key, value in checks.items())
    elif state is None:
        run(["scancel", job])
        yield CheckResult(
            what,
            f"did not run within {patience} s, by squeue for the reason '{why}'; if the queue is "
            "long, try again, else correct partition, account or QOS in the profile",
        )
    else:
        yield CheckResult(
            what,
            f"ended but left no '{answer}'; the project's folder '{Path.cwd()}' must be on a file "
            f"system that compute nodes share, and so must the Python in use ({sys.executable})",
        )


def _wait(job: str, answer: Path, patience: int) -> tuple[str | None, str]:
    """Wait for a job to end; return its state, None if it did not end in time, and the reason."""
    deadline, why = time.monotonic() + patience, ""
    while time.monotonic() < deadline:
        line = run(["squeue", "--noheader", "--format=%T|%r", "--jobs", job]).stdout.strip()
        queued, _, why = line.partition("|")
        if answer.is_file() or queued in ("", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"):
            time.sleep(1)  # a shared file system may show the file a moment later
            return queued or "gone", why
        time.sleep(1)
    return None, why
