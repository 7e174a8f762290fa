"""The verifiers that a dataset may name: the files of `grading/`, found by their names alone."""

from pathlib import Path

GRADING = Path(__file__).parents[1] / "grading"
NO_VERIFIERS = {"__init__", "grade", "verifiers"}  # what they share, and what runs them


def verifiers() -> list[str]:
    """Return the names of all verifiers, sorted; none of their modules is imported."""
    return sorted({path.stem for path in GRADING.glob("*.py")} - NO_VERIFIERS)
