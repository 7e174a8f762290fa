"""The paper's grid at full width on a SLURM started here, by an engine that answers at once.

`make rehearsal`, by night. A job is cancelled, a node dies, a model is added in the middle and the
driver is killed. At the end no request was asked twice, no job on a GPU asked nothing, nothing is
left to do, and an audit has no finding. Prints what it took, as for benchmarks/README.md.
"""

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tests.slurm.cluster import Cluster, running_cluster, wait_for
from tests.support.held_engine import ALLOWED, hold_engines
from tests.support.instant_engine import ASKED, AT_START
from tests.support.journal_lines import records_of
from tests.support.snakemake_runs import ROOT, SNAKEMAKE, copy_project
from tests.support.tiny_model import write_tiny_model
from userturn.slurm.accounting import JOB_LOGS, runs_of

PATIENCE = 4 * 3600  # seconds for a part of it, on a machine with two cores
HELD = 5  # completions of a sweep before its fate
LINE = {"source": "./models/tiny", "gpus": 1, "mem_mb": 2000, "runtime": 30}
Driver = subprocess.Popen[str]
QUESTION = "A farmer has {} hens, and each lays 2 eggs a day. How many eggs are that in a week?"


def arguments() -> argparse.Namespace:
    """Return how much of the shipped grid is rehearsed; by default all."""
    parser = argparse.ArgumentParser()
    for name, most in (("models", 11), ("datasets", 5), ("temperatures", 5), ("perturbations", 3)):
        parser.add_argument(f"--{name}", type=int, default=most)
    parser.add_argument("--items", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=50, help="of SLURM at once, two or more")
    parser.add_argument("--cores", type=int, default=8, help="of the login node")
    return parser.parse_args()


def write_project(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Write the shipped study with a tiny model for every model and a few items for each dataset.

    Returns:
        The selection of its grid that is rehearsed.
    """
    copy_project(folder)
    write_tiny_model(folder / "models" / "tiny")
    (folder / "slurm").symlink_to("profiles/slurm")
    config = yaml.safe_load((folder / "config.yaml").read_text())
    run = config["run"]
    selection = {name: run[name][: getattr(given, name)] for name in ("datasets", "perturbations")}
    selection["models"] = list(config["models"])[: given.models]
    selection["temperatures"] = config["temperatures"][: given.temperatures]
    config["models"] = dict.fromkeys(selection["models"], LINE)
    config["datasets"] = {name: _dataset(folder, name, given.items) for name in run["datasets"]}
    config["controls"]["human"], config["likelihood"] = [], False  # they need a dataset of people's
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    return selection


def _dataset(folder: Path, name: str, n_items: int) -> dict[str, Any]:
    path = folder / "data" / f"{name}.jsonl"
    rows = [{"id": f"{name}-{i}", "question": QUESTION.format(i + 2)} for i in range(n_items)]
    path.write_text("".join(json.dumps(row | {"answer": "12"}) + "\n" for row in rows))
    fields = {"id": "id", "prompt": "question", "reference": "answer"}
    return {"file": str(path.relative_to(folder)), "fields": fields, "verifier": "numeric"}


def select(folder: Path, selection: dict[str, Any], n_models: int) -> None:
    """Let the next run have the first so many models."""
    run = selection | {"models": selection["models"][:n_models]}
    (folder / "study.yaml").write_text(yaml.safe_dump({"run": run}))


def disturb(
    cluster: Cluster, folder: Path, selection: dict[str, Any], start: Callable[[], Driver]
) -> str:
    """Run the study to its end through all that may happen to it; return the node that died."""
    *models, _ = selection["models"]
    select(folder, selection, len(models))
    (folder / ALLOWED).write_text(f"{HELD}\n")
    driver = start()
    wait_for(
        lambda: len(held_models(folder, models)) > 1, f"{HELD} requests of two models", PATIENCE
    )
    cancelled, bereft = held_models(folder, models)[:2]
    cluster.call("scancel", str(cluster.running(folder, cancelled)))
    job = str(cluster.running(folder, bereft))
    node = cluster.call("squeue", "-h", "-j", job, "-o", "%N").strip()
    cluster.control("node-down", node)
    (folder / ALLOWED).unlink()
    select(folder, selection, len(models) + 1)  # a model is added while the study runs
    markers = [folder / "results" / "sweeps" / model / "1of1.json" for model in models]
    wait_for(lambda: all(path.exists() for path in markers), "the end of all sweeps", PATIENCE)
    os.killpg(driver.pid, signal.SIGKILL)  # while cells are gathered and judged
    driver.wait()
    again = start().wait()  # the same command
    assert again == 0, (folder / "run.log").read_text()[-5000:]
    return node


def held_models(folder: Path, models: list[str]) -> list[str]:
    """Return the models whose sweep waits for its fate."""
    return [model for model in models if _n_answered(folder, model) >= HELD]


def _n_answered(folder: Path, model: str) -> int:
    files = (folder / "results" / "journal" / model).rglob("*.jsonl")
    return sum(len(path.read_bytes().splitlines()) for path in files)


def findings(
    cluster: Cluster, folder: Path, selection: dict[str, Any], fates: Set[str]
) -> Iterator[str]:
    """Yield what went wrong, a sentence each; jobs should have ended in some states, at least."""
    jobs = cluster.jobs(folder)
    yield from asked_twice(folder)
    yield from asked_nothing(folder, jobs)
    yield from accounted_otherwise(folder, jobs)
    n_cells, n_wanted = len(_judged(folder)), prod(map(len, selection.values()))
    if n_cells != n_wanted:
        yield f"{n_cells} of {n_wanted} cells are finished"
    states = {job["State"].split()[0] for job in jobs}
    if not fates <= states:
        yield f"expected a job that ended as each of {sorted(fates)}, found {sorted(states)}"
    for expected, *command in (
        ("Nothing to be done", SNAKEMAKE, "-n", "--configfile", "study.yaml"),
        ("no finding", SNAKEMAKE.with_name("userturn"), "audit", "results"),
    ):
        done = subprocess.run(command, cwd=folder, text=True, capture_output=True)
        if done.returncode or expected not in done.stdout + done.stderr:
            yield f"{command} said {done.stdout[-2000:]}{done.stderr[-2000:]}"


def asked_twice(folder: Path) -> Iterator[str]:
    """Yield the journals that have a request more than once."""
    for journal in sorted(_journals(folder)):
        keys = [record["key"] for record in records_of(journal)]
        if len(keys) != len(set(keys)):
            yield f"{journal} has {len(keys)} replies to {len(set(keys))} requests"


def asked_nothing(folder: Path, jobs: list[dict[str, str]]) -> Iterator[str]:
    """Yield the jobs of SLURM that had a GPU and asked their engine nothing."""
    for job in jobs:
        asked = folder / ASKED / job["JobID"]
        if not asked.exists() or not asked.stat().st_size:
            yield f"job {job['JobID']} ({job['Comment']}, {job['State']}) asked nothing"


def accounted_otherwise(folder: Path, jobs: list[dict[str, str]]) -> Iterator[str]:
    """Yield how the runs that `userturn jobs` counts differ from those of sacct, to the second."""
    ours = sorted(
        (one.job, one.state, one.seconds, one.n_gpus) for one in runs_of(folder / JOB_LOGS)
    )
    told = sorted(
        (job["JobID"], job["State"].split()[0], int(job["ElapsedRaw"]), gpus_of(job["AllocTRES"]))
        for job in jobs
    )
    if ours != told:
        yield f"userturn jobs counts {ours}, and sacct {told}"


def gpus_of(resources: str) -> int:
    """Return the GPUs among allocated resources, such as cpu=8,gres/gpu:h100=2,gres/gpu=2."""
    return int(dict(pair.split("=") for pair in resources.split(",")).get("gres/gpu", 0))


def _judged(folder: Path) -> list[Path]:
    return list(folder.glob("results/cells/*/*/*/*/verdicts"))


def _journals(folder: Path) -> set[Path]:
    return {path.parent for path in (folder / "results" / "journal").rglob("*.jsonl")}


def table(cluster: Cluster, folder: Path, cpu: float, peak: float) -> Iterator[str]:
    """Yield the lines of the table of jobs, CPU and files."""
    begun = re.findall(r"^(localrule|rule) (\w+):$", (folder / "run.log").read_text(), re.MULTILINE)
    jobs = Counter(rule for where, rule in begun if where == "localrule")
    n_cells = len(_judged(folder))
    said = cluster.accounts("-o", "JobID,TotalCPU,WorkDir")
    swept = [line.split("|")[1] for line in said.splitlines() if line.endswith(f"|{folder}")]
    yield "| what | how many |\n|---|---|"
    yield f"| cells | {n_cells} |"
    yield f"| requests | {sum(len(records_of(path)) for path in _journals(folder)):,} |"
    yield f"| jobs on SLURM, their CPU s | {len(swept)}, {sum(map(_seconds, swept)):.0f} |"
    yield f"| jobs on the login node | {sum(jobs.values()):,} |"
    yield f"| of that | {', '.join(f'{rule} {n}' for rule, n in jobs.most_common(12))} |"
    yield f"| CPU s on the login node, and of each job | {cpu:.0f}, {cpu / jobs.total():.2f} |"
    yield f"| most memory of one process there, MB | {peak:.0f} |"
    for part in ("results", "results/provenance", ".snakemake", "logs"):
        inodes = 1 + sum(1 for _ in (folder / part).rglob("*"))
        yield f"| files and folders in {part}, for a cell | {inodes:,}, {inodes / n_cells:.1f} |"


def _seconds(said: str) -> float:
    """Return a time of sacct, [[D-]H:]M:S, in seconds."""
    days, _, clock = said.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


@contextmanager
def rehearsed() -> Iterator[tuple[Cluster, Path]]:
    """Yield a cluster and a folder that it shares."""
    with running_cluster() as cluster, TemporaryDirectory(prefix="rehearsal-") as folder:
        yield cluster, Path(folder)


def main() -> int:
    """Rehearse; return 1 if anything went wrong."""
    given = arguments()
    with rehearsed() as (cluster, scratch):
        folder = scratch / "study"
        selection = write_project(folder, given)
        engine = hold_engines(scratch / "engine", ROOT, AT_START)
        limits = ["--jobs", str(given.jobs), "--cores", str(given.cores)]
        print(f"its output: {folder / 'run.log'}", flush=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        node = disturb(cluster, folder, selection, lambda: cluster.start(folder, *limits, **engine))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cluster.control("node-up", node)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print("\n".join(table(cluster, folder, cpu, after.ru_maxrss / 1024)), flush=True)
        found = list(findings(cluster, folder, selection, {"CANCELLED", "NODE_FAIL"}))
    for sentence in found:
        print(f"error: {sentence}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
