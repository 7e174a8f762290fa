"""How often do `numeric` and `math` grade a pair of answer and reference against a reader's eye?

Each pair of verifier_pairs.jsonl has what a careful reader says of it, or null where one could
argue, written down before the pair was graded.

    python benchmarks/verifier_pairs.py
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from userturn.grading.grade import Case, verifier_named

PAIRS = Path(__file__).with_suffix(".jsonl")


def kind(right: bool | None, grade: bool | None) -> str:
    """Return how a grade stands to what a reader says."""
    if right is None:
        return "arguable, undecided" if grade is None else "arguable, decided"
    return "undecided" if grade is None else "right" if grade == right else "wrong"


def graded() -> list[tuple[dict[str, Any], str]]:
    """Return every pair with how its grade stands to what a reader says."""
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    found = []
    for verifier in ("numeric", "math"):
        mine = [pair for pair in pairs if pair["verifier"] == verifier]
        cases = [Case(p["answer"], p["reference"], {"language": p["language"]}) for p in mine]
        for pair, grade in zip(mine, verifier_named(verifier)(cases, 2), strict=True):
            found.append((pair, kind(pair["right"], grade.correct)))
    return found


def main() -> None:
    """Print the numbers of pairs by verifier and kind, and those that are not as a reader's."""
    found = graded()
    for pair, of in found:
        if of not in ("right", "arguable, undecided"):
            print(f"{pair['verifier']:8} {of:20} {pair['answer']!r} for {pair['reference']!r}")
    for (verifier, of), n in sorted(Counter((pair["verifier"], of) for pair, of in found).items()):
        print(f"{verifier:8} {of:20} {n:4}")


if __name__ == "__main__":
    main()
