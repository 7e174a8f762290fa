"""People are asked first for the labels without which nothing is known of a judge."""

from functools import partial
from pathlib import Path

import polars as pl

from tests.support.annotation_rounds import LABELS, NO_KEY, key_of, study
from tests.support.made_up_results import made_up_config
from userturn.humans.rounds import NewRound, asked_first, draw_once
from userturn.humans.task_page import NEEDED, page
from userturn.judges.rubric import read_rubric
from userturn.judges.verdict import GENUINE
from userturn.study.grid import Grid
from userturn.workflow.humans import RoundGrid

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


CONFIG = made_up_config(["a-1b"], ["d"], (0,), ("none",), ("heuristic",))


def drawing(*ids: str) -> NewRound:
    table = pl.DataFrame({"id": ids}, schema={"id": pl.String})
    return NewRound(table, table, {})


def test_a_round_without_turns_is_drawn_later_and_then_stays(tmp_path: Path) -> None:
    rounds = RoundGrid(Grid(CONFIG, tmp_path), "humans", ["first"])
    key, items = (tmp_path / f"{name}.parquet" for name in ("key", "items"))
    found = []
    for drawn in (drawing(), drawing("a", "b"), drawing("c")):
        draw_once(rounds, "first", partial(lambda now: now, drawn), str(key), str(items))
        tables = [pl.read_parquet(path)["id"].to_list() for path in (key, items)]
        found.append((*tables, rounds.is_drawn("first")))
    assert found == [
        ([], [], False),
        (["a", "b"], ["a", "b"], True),
        (["a", "b"], ["a", "b"], True),
    ]
