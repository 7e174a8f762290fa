"""The draw of the human sample: stable when the study grows, probabilities that hold."""

import numpy as np
import polars as pl
import pytest

from tests.support.annotation_rounds import (
    FAMILIES,
    LABELS,
    NO_KEY,
    annotated,
    key_of,
    study,
    together,
)
from userturn.humans.rounds import NO_LABELLED, draw, keyed
from userturn.humans.sample import (
    allocation_name,
    mark_drawn,
    quota,
    sampling_frame,
    shared_out,
)
from userturn.storage.table_files import TURN_KEYS
from userturn.tables.corrected_rates import domains

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


@pytest.mark.slow
def test_turns_are_drawn_as_often_as_their_probability_says() -> None:
    # Over 300 seeds each of 12 turns is drawn 75 times, standard deviation 7.5; five of them.
    turns, verdicts = study([LABELS[3]] * 12)
    settings = quota({"per_stratum": 3, "genuine": 1})
    frames = [
        mark_drawn(sampling_frame(turns, verdicts, seed), settings).filter("is_drawn")
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


SMALLEST = {"per_stratum": 1, "genuine": 2}


def strata(**sizes: tuple[int, int]) -> pl.DataFrame:
    """Return two strata of each model: how many turns the judge calls genuine, and not."""
    place = {"dataset": "d", "temperature": 0.0, "perturbation": "none", "n_drawn": 1}
    rows = [
        place | {"model": model, "stratum": label, "stratum_size": size}
        for model, both in sizes.items()
        for label, size in zip((LABELS[0], LABELS[3]), both, strict=True)
    ]
    return pl.DataFrame(rows)


def said(**genuine: list[float]) -> pl.DataFrame:
    """Return what people said of turns that the judge called `yes` or `no`."""
    names = {"yes": LABELS[0], "no": LABELS[3]}
    rows = [{"stratum": names[n], "genuine": g} for n, given in genuine.items() for g in given]
    return pl.DataFrame(rows, schema=NO_LABELLED.schema)


def test_before_any_label_cells_with_rates_near_a_half_get_more() -> None:
    table = shared_out(strata(even=(500, 500), rare=(10, 990)), 100, NO_LABELLED)
    drawn_of = dict(table.group_by("model").agg(pl.sum("n_drawn")).iter_rows())
    # Deviations .5 and sqrt(.0105 x .9895) = .102; the stratum of 10 gives 1, its least. Of the
    # other 99 the 990 have 990 x .102 / (1000 x .5 + 990 x .102) = .168: 16.6.
    assert drawn_of == {"even": 82, "rare": 18}


def test_after_a_round_labels_go_where_people_disagreed_with_the_judge() -> None:
    labels = said(yes=[1, 0] * 20, no=[0] * 40)
    table = shared_out(strata(m=(500, 500)), 100, labels)
    # Deviations .5 and sqrt(.5/41 x 40.5/41) = .110.
    assert dict(table.select("stratum", "n_drawn").iter_rows()) == {LABELS[0]: 82, LABELS[3]: 18}


def test_label_of_the_judge_that_nobody_has_seen_is_the_most_uncertain() -> None:
    table = shared_out(strata(m=(500, 500)), 100, said(no=[0] * 40))
    assert table.filter(stratum=LABELS[0])["n_drawn"].item() > 75


def test_every_stratum_gives_at_least_what_the_settings_say() -> None:
    table = shared_out(strata(m=(5, 5000)).with_columns(n_drawn=pl.lit(5)), 50, NO_LABELLED)
    assert dict(table.select("stratum", "n_drawn").iter_rows()) == {LABELS[0]: 5, LABELS[3]: 45}


@pytest.mark.parametrize(
    ("n_turns", "n_labels", "beginning"),
    [
        (None, 0, "per_stratum, genuine"),
        (600, 0, "Neyman, from the judge's rates: 600 turns of all rounds"),
        (600, 212, "Neyman, from 212 labels of earlier rounds: 600 turns"),
    ],
)
def test_allocation_of_a_round_has_a_name(
    n_turns: int | None, n_labels: int, beginning: str
) -> None:
    assert allocation_name(n_turns, n_labels).startswith(beginning)


def two_rounds(seed: int) -> tuple[float, float, float, float]:
    """Return a model's corrected rate with limits after two rounds of two, and the true share.

    The judge misses a third of genuine turns and calls a tenth of the others genuine.
    """
    rng = np.random.default_rng(seed)
    cells, truth = [], {}
    for model, share in (("a-1b", 0.3), ("b-1b", 0.05)):
        real = rng.random(200) < share
        said = np.where(real, rng.random(200) < 0.67, rng.random(200) < 0.1)
        cells.append(study([LABELS[0] if s else LABELS[3] for s in said], model))
        truth.update(zip(cells[-1][0]["key"], real, strict=True))
    turns, verdicts = together(*cells)
    frame = mark_drawn(
        sampling_frame(turns, verdicts, seed), quota({"per_stratum": 5, "genuine": 5})
    )
    first = keyed(draw(frame, NO_KEY, FAMILIES, 0, seed), "first", "judge", seed)
    labels = first.select("stratum", genuine=pl.col("key").replace_strict(truth).cast(pl.Float64))
    second = keyed(draw(frame, first, FAMILIES, 0, seed, 80, labels), "second", "judge", seed)
    assert first.height + second.height == 80
    keys = pl.concat([first, second])
    given = [
        annotated(key, ann=[LABELS[0] if truth[k] else LABELS[3] for k in key["key"]])
        for key in (first, second)
    ]
    found = domains(turns, verdicts, pl.concat(given), keys)
    row = found["a-1b", "all", 0.0, "none", "judge"].corrected
    of_model = [truth[key] for key in cells[0][0]["key"]]
    return row.estimate, row.lower, row.upper, float(np.mean(of_model))


@pytest.mark.slow
def test_rates_stay_unbiased_though_the_first_round_steers_the_second() -> None:
    found = np.array([two_rounds(seed) for seed in range(100)])
    errors = found[:, 0] - found[:, 3]
    assert abs(errors.mean()) < 3 * errors.std() / 100**0.5
    assert ((found[:, 1] <= 0.3) & (found[:, 2] >= 0.3)).mean() > 0.9


def test_round_of_perturbed_turns_goes_on_with_the_same_probabilities() -> None:
    plain, cut = study([LABELS[0]] * 20), study([LABELS[3]] * 20, perturbation="truncate")
    frames = [mark_drawn(sampling_frame(*cell, 1), quota(SMALLEST)) for cell in (plain, cut)]
    first = keyed(draw(frames[0], NO_KEY, FAMILIES, 0, 1), "first", "judge", 1)
    second = keyed(draw(pl.concat(frames), first, FAMILIES, 0, 1), "second", "judge", 1)
    assert set(second["perturbation"]) == {"truncate"}
    assert second["inclusion_probability"].to_list() == [1 / 20]
    assert not set(first.select(TURN_KEYS).rows()) & set(second.select(TURN_KEYS).rows())
