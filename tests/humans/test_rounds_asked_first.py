"""People are asked first for the labels without which nothing is known of a judge."""

import polars as pl

from tests.support.annotation_rounds import LABELS, NO_KEY, key_of, study
from userturn.humans.rounds import asked_first
from userturn.humans.task_page import NEEDED, page
from userturn.judges.rubric import read_rubric
from userturn.judges.verdict import GENUINE

LEAST = {"min_sensitivity": 0.7, "min_specificity": 0.9}
RUBRIC = read_rubric("data/rubric_2.yaml")


def key(n_genuine: int, n_other: int) -> pl.DataFrame:
    labels = [LABELS[0]] * n_genuine + [LABELS[3]] * n_other
    return key_of(*study(labels), per_stratum=1000, genuine=1000)


def test_as_many_of_either_side_come_first_as_could_show_the_judge_to_be_right() -> None:
    # Wilson's lower limit of n of n is n / (n + 3.84): 9 turns for .7, 35 for .9.
    drawn = key(30, 60)
    asked, n_first = asked_first(drawn, NO_KEY, LEAST)
    first = asked.head(n_first)["stratum"]
    assert n_first == 44 and (first == GENUINE).sum() == 9
    assert asked.sort("id").equals(drawn)


def test_within_the_first_and_the_rest_opaque_ids_decide_the_order() -> None:
    asked, n_first = asked_first(key(30, 60), NO_KEY, LEAST)
    for part in (asked.head(n_first), asked.tail(-n_first)):
        assert part["id"].is_sorted() and part["stratum"].n_unique() == 2


def test_turns_of_earlier_rounds_are_not_asked_for_again() -> None:
    asked, n_first = asked_first(key(30, 60), key(9, 30), LEAST)
    assert (n_first, set(asked.head(n_first)["stratum"])) == (5, {LABELS[3]})
    assert asked_first(key(30, 60), key(20, 40), LEAST)[1] == 0


def test_the_page_says_how_many_come_first_unless_these_are_all_or_none() -> None:
    items = pl.DataFrame({"id": ["a", "b", "c"], "conversation": [[]] * 3, "turn": ["x"] * 3})
    told = NEEDED.format(n=2)
    assert told in page("first", items, RUBRIC, n_first=2)
    for n in (0, 3):
        assert "needed most" not in page("first", items, RUBRIC, n_first=n)
