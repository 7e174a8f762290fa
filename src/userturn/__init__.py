"""Measure whether a language model knows what its user says next.

__main__.py: the program `userturn`.
api.py: a finished study in a notebook.
errors.py: errors whose message says what to do, full disks, and errors that a retry would meet.
logs.py: where output goes: all of it to a log file, progress and errors to the terminal too.
processes.py: signals as requests to stop, a time limit, and a guard that lets no connection out.
wording.py: numbers, kinds of values, labels and unseen characters in words.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from userturn.api import FinishedStudy


def load(results: str = "results") -> "FinishedStudy":
    """Return the finished study in a results folder, whose tables are Polars frames.

    Raises:
        UserError: the folder has no study.
    """
    from pathlib import Path  # nothing is imported before it is needed: every job starts here

    from userturn.api import FinishedStudy
    from userturn.study.record import read_study_record

    read_study_record(Path(results))
    return FinishedStudy(Path(results))
