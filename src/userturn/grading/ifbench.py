"""The verifier `ifbench`: IFBench's instructions, followed strictly and loosely."""

from collections.abc import Sequence

from userturn.grading.grade import Case, Grade
from userturn.grading.ifeval import grade_instructions


def verify(cases: Sequence[Case], n_processes: int = 1) -> list[Grade]:
    """Grade answers to the instructions of IFBench."""
    return grade_instructions("ifbench", cases, n_processes)
