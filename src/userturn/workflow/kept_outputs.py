"""Keeps what a job made before, in case that it fails this time: Snakemake removes it first."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from userturn.workflow.jobs import every_job

KEPT = ".kept"  # folder of a study's results, there during a run alone


def keep_outputs(workflow: Any, results: Path) -> None:
    """Link the present outputs of all jobs that will run, but for those that need an engine.

    What a killed run kept and did not give back is given back before.
    """
    restore_outputs(workflow, results)
    for job in workflow.dag.needrun_jobs():
        # Of a job without inputs nothing would say later that its output is an old one.
        if job.rule.name in every_job() and len(job.input):
            for output in map(Path, job.output):
                if output.is_file():
                    _link(output, _kept(output, results))


def restore_outputs(workflow: Any, results: Path) -> None:
    """Give back what jobs of this run removed and did not make, and remove the links.

    A failed job leaves metadata as if it had made its outputs. Without them, and with a file of
    1970, Snakemake runs it again until it succeeds.
    """
    if not (results / KEPT).is_dir():
        return
    for output in [output for job in workflow.dag.jobs for output in job.output]:
        path, kept = Path(output), _kept(output, results)
        if kept.is_file() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.utime(kept, (1, 1))  # a time of 0 means none to Snakemake
            kept.rename(path)
            workflow.persistence.cleanup_metadata(output)
    shutil.rmtree(results / KEPT, ignore_errors=True)


def _kept(output: str | Path, results: Path) -> Path:
    return results / KEPT / os.path.relpath(output, results)


def _link(output: Path, kept: Path) -> None:
    kept.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # a file system without hard links keeps nothing
        kept.hardlink_to(output)
