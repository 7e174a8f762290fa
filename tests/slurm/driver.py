"""Snakemake that asks SLURM for its jobs every three seconds, however long they take.

By itself the plugin asks ten seconds later each time that no job has ended.
"""

import sys

from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

SECONDS = 3

if __name__ == "__main__":
    steady = property(lambda _: SECONDS, lambda _, __: None)
    RemoteExecutor.next_seconds_between_status_checks = steady
    sys.exit(main())
