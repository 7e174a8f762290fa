"""The draw of the human sample: stable when the study grows, probabilities that hold."""

import polars as pl
import pytest

from tests.support.annotation_rounds import LABELS, key_of, study, together
from userturn.humans.sample import drawn, sampling_frame, wanted

MANY = [LABELS[0]] * 10 + [LABELS[3]] * 30 + [LABELS[4]] * 5
HERE = study(MANY)
OTHERS = [study(MANY, "a-2b"), study(MANY, "b-1b"), study(MANY, temperature=1.0)]


def test_strata_of_a_cell_give_as_many_as_the_config_wants() -> None:
    key = key_of(*HERE)
    assert dict(key.group_by("stratum").len().iter_rows()) == {
        LABELS[0]: 4,
        LABELS[3]: 2,
        LABELS[4]: 2,
    }


def test_probability_is_what_is_drawn_of_what_there_is() -> None:
    found = dict(key_of(*HERE).select("stratum", "inclusion_probability").iter_rows())
    assert found == {LABELS[0]: 4 / 10, LABELS[3]: 2 / 30, LABELS[4]: 2 / 5}


@pytest.mark.parametrize("n_more", [1, 2, 3])
def test_growth_neither_removes_nor_reorders_what_a_cell_gave(n_more: int) -> None:
    before, after = key_of(*HERE), key_of(*together(HERE, *OTHERS[:n_more]))
    assert after.filter(pl.col("id").is_in(before["id"].to_list())).equals(before)
    assert after.height == before.height * (1 + n_more)


def test_order_of_the_rows_moves_nothing() -> None:
    turns, verdicts = HERE
    assert key_of(turns.reverse(), verdicts.sample(fraction=1, shuffle=True, seed=3)).equals(
        key_of(turns, verdicts)
    )


def test_more_items_of_a_stratum_displace_few() -> None:
    # 30 of 300 are drawn by rank; of 30 more items about one in eleven ranks among the first.
    small, large = study([LABELS[3]] * 300), study([LABELS[3]] * 330)
    before, after = (set(key_of(*s, per_stratum=30)["key"]) for s in (small, large))
    assert len(before & after) >= 24


def test_turns_are_drawn_as_often_as_their_probability_says() -> None:
    # Over 300 seeds each of 12 turns is drawn 75 times, standard deviation 7.5; five of them.
    turns, verdicts = study([LABELS[3]] * 12)
    settings = wanted({"per_stratum": 3, "genuine": 1})
    frames = [
        drawn(sampling_frame(turns, verdicts, seed), settings).filter("is_drawn")
        for seed in range(300)
    ]
    times = pl.concat(frames).group_by("item").len()["len"]
    assert times.len() == 12
    assert times.is_between(75 - 5 * 7.5, 75 + 5 * 7.5).all()


def test_family_is_topped_up_to_its_minimum_and_others_are_left_alone() -> None:
    key = key_of(*together(HERE, study(MANY, "b-1b"), study(MANY, "a-2b")), minimum=12)
    assert dict(key.group_by("family").len().iter_rows()) == {"a": 16, "b": 12}


def test_topping_up_keeps_probabilities_equal_within_a_stratum() -> None:
    key = key_of(*HERE, minimum=20)
    strata = key.group_by("stratum").agg(
        n=pl.len(), p=pl.first("inclusion_probability") * pl.first("stratum_size")
    )
    assert key.height == 20
    assert strata["p"].round(9).to_list() == strata["n"].to_list()


def test_family_smaller_than_its_minimum_gives_all() -> None:
    assert key_of(*HERE, minimum=1000).height == len(MANY)


def test_later_round_goes_on_where_the_earlier_one_ended() -> None:
    first = key_of(*HERE)
    second = key_of(*together(HERE, OTHERS[0]), per_stratum=3, earlier=first, round_name="second")
    assert not set(first["key"]) & set(second["key"])
    here = second.filter(pl.col("model") == "a-1b")
    # 2 of each smaller stratum were drawn before, now 3: one more of each, with 3 of N in all.
    assert here.group_by("stratum").len()["len"].to_list() == [1, 1]
    assert set(here["inclusion_probability"]) == {3 / 30, 3 / 5}


def test_later_round_of_an_unchanged_study_is_empty() -> None:
    assert key_of(*HERE, earlier=key_of(*HERE), round_name="second").is_empty()


def test_rounds_give_the_same_turn_different_ids() -> None:
    assert not set(key_of(*HERE)["id"]) & set(key_of(*HERE, round_name="second")["id"])


def test_errors_are_never_drawn_and_unscored_turns_are_a_stratum() -> None:
    turns, verdicts = study([None, None, LABELS[3]])
    lost = pl.when(pl.col("item") == "i0000").then(pl.lit("error")).otherwise("outcome")
    frame = sampling_frame(turns.with_columns(outcome=lost), verdicts, 1)
    assert frame.select("item", "stratum").sort("item").rows() == [
        ("i0001", "unscored"),
        ("i0002", LABELS[3]),
    ]


def test_order_of_a_round_tells_nothing_about_the_judge() -> None:
    # 40 turns of each of 2 labels, shuffled: runs of one label follow the number of runs of a fair
    # shuffle, 41 on average with a standard deviation of 4.4.
    key = key_of(*study([LABELS[3]] * 40 + [LABELS[4]] * 40), per_stratum=40)
    runs = 1 + (key["stratum"] != key["stratum"].shift(1)).fill_null(False).sum()
    assert abs(runs - 41) < 4 * 4.5
