"""SIGTERM and SIGUSR1 as requests to stop: a sweep ends its step first, Snakemake goes on."""

import ctypes
import signal
import sys
from dataclasses import dataclass
from types import FrameType

END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
STOP_SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)


@dataclass
class StopFlag:
    """Set by a signal or by the loss of a lease, read between two steps of the engine."""

    reason: str | None = None

    def listen(self) -> None:
        """Treat SIGTERM, SIGUSR1 and SIGINT as a request to stop soon, without losing anything."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._set)

    def set(self, reason: str) -> None:
        """Request a stop, for a reason that completes "stopped by"."""
        self.reason = reason

    def _set(self, number: int, frame: FrameType | None) -> None:
        self.set(signal.Signals(number).name)


def let_early_warning_pass() -> None:
    """Ignore SIGUSR1, which would end a job's Snakemake and with it the sweep that is stopping.

    SLURM sends it to every process of a job step if `--signal=USR1@120` is set.
    """
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def end_with_parent() -> None:
    """Have SIGTERM sent to this process when its parent ends in any way; on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGTERM)
