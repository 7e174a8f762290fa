"""The judge that was measured and not built learns as its benchmark says."""

import numpy as np

from benchmarks.learned_judge import PEOPLE, RIDGE, WEAK, Node, boosted, grown, others


def test_a_tree_splits_where_the_sides_part_and_its_leaves_are_newton_steps() -> None:
    y = np.repeat([0.0, 1.0], 10)
    x = np.column_stack([np.ones(20), np.arange(20.0)])
    tree = grown(x, 0.5 - y, np.full(20, 0.25), depth=1)
    step = 10 * 0.5 / (10 * 0.25 + RIDGE)
    assert tree == Node(1, 9.5, -step, step)


def test_boosted_trees_rank_what_they_have_learned() -> None:
    x = np.arange(40.0)[:, None]
    y = ((x[:, 0] > 9) & (x[:, 0] < 30)).astype(float)
    scores = boosted(x, y, np.ones(40))(x)
    assert scores[y == 1].min() > scores[y == 0].max()


def test_weak_labels_of_people_teach_nothing_where_people_are_left_out() -> None:
    assert others([PEOPLE, WEAK, "model"], PEOPLE) == ["model"]
    assert others([PEOPLE, WEAK, "model"], "model") == [PEOPLE, WEAK]
