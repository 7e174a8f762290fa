"""How far the labellings of `data/labelled` agree with each other and with the heuristic judge.

Run from the project's root: `python benchmarks/labellings.py`. Limits are 95%, over conversations.
"""

import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from userturn.config.load import load_config
from userturn.judges.heuristic import judge_by_words
from userturn.judges.verdict import GENUINE
from userturn.stats.agreement import Ratings, estimate_all
from userturn.stats.rng import generator

LABELLED = Path("data/labelled/turns.jsonl")
LABELLINGS = ("first_label", "second_label", "third_label", "label")
HEURISTIC = "heuristic"

Row = dict[str, Any]


def labelled_turns() -> list[Row]:
    """Return the labelled turns, with the heuristic judge's label, None where it is silent."""
    settings = load_config(["config.yaml"])["judges"]["heuristic"]
    rows = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        *asked, answer = row["messages"]
        row[HEURISTIC] = judge_by_words(asked, answer["content"], row["turn"], settings).label
    return rows


def agreement(rows: list[Row], one: str, other: str, is_binary: bool) -> str:
    """Return raw agreement and Cohen's kappa of two columns of labels, in words."""
    rows = [row for row in rows if row[one] is not None and row[other] is not None]
    pairs = [[row[one], row[other]] for row in rows]
    labels = sorted({label for pair in pairs for label in pair})
    codes = [[label == GENUINE if is_binary else labels.index(label) for label in p] for p in pairs]
    ratings = Ratings(
        np.array(codes, dtype=np.int64),
        np.ones(len(rows)),
        np.array([row["conversation"] for row in rows]),
        2 if is_binary else len(labels),
    )
    found = estimate_all(ratings, ["raw", "cohen_kappa"], generator(0, one, other))
    shown = (f"{e.estimate:.3f} [{e.lower:.3f}, {e.upper:.3f}]" for e in found.values())
    scale = "genuine or not" if is_binary else "six labels"
    raw, kappa = shown
    return f"{one} and {other}, {scale}: raw {raw}, kappa {kappa}, {len(rows)} turns"


if __name__ == "__main__":
    labelled = labelled_turns()
    compared = [*combinations(LABELLINGS[:3], 2), ("label", HEURISTIC)]
    for first, second in compared:
        for binary in (False, True):
            print(agreement(labelled, first, second, binary))
