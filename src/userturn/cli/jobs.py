"""`userturn jobs`: what each job of a study took on a SLURM cluster, and the GPU hours by model."""

import argparse
from pathlib import Path
from typing import Any

from userturn.cli.arguments import take_results
from userturn.cli.terminal import Output, Sheet, prose
from userturn.slurm.accounting import JOB_LOGS, Run, result_times, runs_of, useful_seconds

HELP = "show every job on SLURM and the GPU hours of each model"
EXAMPLES = ("jobs", "jobs --json")
USEFUL = "useful: until a run last kept a reply or a step; all of it, if it ended as it should"
OF_A_JOB = ("model or judge", "rule", "job", "state", "waited s", "ran s", "GPUs", "GPU s")
OF_A_MODEL = ("model or judge", "runs", "GPU s", "GPU hours", "useful s", "lost s")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    take_results(command)
    command.add_argument(
        "--logs",
        type=Path,
        default=JOB_LOGS,
        help=f"folder of the jobs' logs, slurm-logdir of the profile; default: {JOB_LOGS}",
    )


def run(arguments: argparse.Namespace) -> Output:
    """Run the command."""
    runs = runs_of(arguments.logs)
    root = Path(arguments.results).absolute().parent
    rows = [_row(one, useful_seconds(one, result_times(root, one))) for one in runs]
    names = list(dict.fromkeys(row["name"] for row in rows))
    totals = [_total(name, [row for row in rows if row["name"] == name]) for name in names]
    numbers = {"runs": rows, "totals": [*totals, _total("all", rows)]}
    if not rows:
        return Output([prose(f"no job of SLURM has logged in '{arguments.logs}' yet")], numbers)
    return Output(_parts(rows, numbers["totals"]), numbers)


def _row(one: Run, useful: int) -> dict[str, Any]:
    return {
        **{"name": one.name, "rule": one.rule, "job": one.job, "state": one.state},
        **{"waited_s": one.waited, "ran_s": one.seconds, "gpus": one.n_gpus},
        **{"gpu_s": one.gpu_seconds, "useful_gpu_s": useful * one.n_gpus},
    }


def _total(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    spent, useful = (sum(row[key] for row in rows) for key in ("gpu_s", "useful_gpu_s"))
    return {
        **{"name": name, "runs": len(rows), "gpu_s": spent, "gpu_hours": spent / 3600},
        **{"useful_gpu_s": useful, "lost_gpu_s": spent - useful},
    }


def _parts(runs: list[dict[str, Any]], totals: list[dict[str, Any]]) -> list[Any]:
    jobs = [
        (
            *(row["name"], row["rule"], row["job"], row["state"]),
            "" if row["waited_s"] is None else f"{row['waited_s']:,}",
            *(f"{row[key]:,}" for key in ("ran_s", "gpus", "gpu_s")),
        )
        for row in runs
    ]
    models = [
        (
            *(row["name"], f"{row['runs']:,}", f"{row['gpu_s']:,}", f"{row['gpu_hours']:,.2f}"),
            *(f"{row[key]:,}" for key in ("useful_gpu_s", "lost_gpu_s")),
        )
        for row in totals
    ]
    sheets = (
        Sheet(OF_A_JOB, jobs, whole=OF_A_JOB[4:]),
        Sheet(OF_A_MODEL, models, whole=OF_A_MODEL[1:]),
    )
    return [*sheets, prose(USEFUL)]
