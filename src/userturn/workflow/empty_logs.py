"""Removes logs in which nothing was said: nearly all, several for each cell, with their folders."""

import os
from contextlib import suppress
from pathlib import Path

from userturn.workflow.snakemake_lock import is_alone

# Jobs on other nodes outlive a killed Snakemake, and may not have said anything yet.
ON_OTHER_NODES = {"sweep", "sweep_after_others", "serve_judge", "train", "slurm"}


def remove_empty_logs(logs: Path = Path("logs")) -> None:
    """Remove the empty logs of a run that has ended, and then the folders without any.

    During a run each job needs its log: Snakemake makes it if the job did not.
    """
    if not is_alone():
        return
    for name, _, _ in os.walk(logs, topdown=False):
        folder = Path(name)
        if ON_OTHER_NODES.isdisjoint(folder.relative_to(logs).parts[:1]):
            for log in folder.glob("*.log"):
                if not log.stat().st_size:
                    log.unlink()
            with suppress(OSError):  # not empty
                folder.rmdir()
