"""Signals that ask for an end: a sweep takes them as a wish, Snakemake around it lets them pass."""

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
        """Take SIGTERM, SIGUSR1 and SIGINT as the wish to stop soon, without losing anything."""
        for number in STOP_SIGNALS:
            signal.signal(number, self._set)

    def set(self, reason: str) -> None:
        """Wish for an end, for a reason that completes "stopped by"."""
        self.reason = reason

    def _set(self, number: int, frame: FrameType | None) -> None:
        self.set(signal.Signals(number).name)


def let_early_warning_pass() -> None:
    """Ignore SIGUSR1, which would end the Snakemake of a job and with it the sweep that drains.

    SLURM sends it to every process of a job step where `--signal=USR1@120` asks for it.
    """
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def end_with_parent() -> None:
    """Have this process ended, by SIGTERM, when its parent ends in any way; on Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGTERM)
