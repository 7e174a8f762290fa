"""How often two raters give a turn which pair of labels, in each cell.

Raters are the judges by number, and after them people with their most frequent label.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any


def most_frequent(labels: Sequence[int]) -> int:
    """Return the label that most people gave; -1 for a tie, or without labels."""
    found = Counter(labels).most_common(2)
    is_tie = len(found) == 2 and found[0][1] == found[1][1]
    return found[0][0] if found and not is_tie else -1


def label_pairs(rows: Sequence[list[Any]]) -> list[list[int]]:
    """Return the pairs of labels in a cell as two raters, their labels and the number of turns.

    Args:
        rows: turns as `explorer.turn_rows` yields them; a label is -1 where there is none.
    """
    counts: Counter[tuple[int, int, int, int]] = Counter()
    for row in rows:
        verdicts, people = row[8], row[9]
        labels = [said[0] for said in verdicts] + [most_frequent([said[1] for said in people])]
        for (i, first), (j, second) in combinations(enumerate(labels), 2):
            if first >= 0 and second >= 0:
                counts[i, j, first, second] += 1
    return [[*pair, n] for pair, n in sorted(counts.items())]
