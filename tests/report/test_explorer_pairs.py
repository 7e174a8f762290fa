"""Pairs of labels: what two raters said of the same turns."""

from typing import Any

from userturn.report.explorer import label_pairs, most_frequent


def row(first: int, second: int, *people: int) -> list[Any]:
    """Return a row of the explorer with labels of two judges and of people."""
    verdicts = [[label, None, None] for label in (first, second)]
    return [None] * 8 + [verdicts, [["person", label, None] for label in people]]


def test_people_count_by_the_label_that_most_of_them_gave() -> None:
    assert most_frequent([3, 1, 3]) == 3
    assert most_frequent([3, 1]) == -1
    assert most_frequent([]) == -1


def test_turns_are_counted_where_both_raters_gave_a_label() -> None:
    rows = [row(0, 3), row(0, 3, 4, 4, 0), row(-1, 3), row(0, 0, 0, 4)]
    # judges 0 and 1: twice (0, 3), once (0, 0); people are rater 2: 4 in the second row, else none
    assert label_pairs(rows) == [[0, 1, 0, 0, 1], [0, 1, 0, 3, 2], [0, 2, 0, 4, 1], [1, 2, 3, 4, 1]]
