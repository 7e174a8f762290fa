"""Neyman's allocation of a round: more labels where they are uncertain, and weights that hold."""

import numpy as np
import polars as pl
import pytest

from tests.support.annotation_rounds import FAMILIES, LABELS, NO_KEY, annotated, study, together
from userturn.humans.rounds import NO_LABELLED, draw, keyed
from userturn.humans.sample import allocation_name, drawn, sampling_frame, shared_out, wanted
from userturn.storage.table_files import TURN_KEYS
from userturn.tables.corrected_rates import domains

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
    frame = drawn(sampling_frame(turns, verdicts, seed), wanted({"per_stratum": 5, "genuine": 5}))
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


def test_rates_stay_unbiased_though_the_first_round_steers_the_second() -> None:
    found = np.array([two_rounds(seed) for seed in range(100)])
    errors = found[:, 0] - found[:, 3]
    assert abs(errors.mean()) < 3 * errors.std() / 100**0.5
    assert ((found[:, 1] <= 0.3) & (found[:, 2] >= 0.3)).mean() > 0.9


def test_round_of_perturbed_turns_goes_on_with_the_same_probabilities() -> None:
    plain, cut = study([LABELS[0]] * 20), study([LABELS[3]] * 20, perturbation="truncate")
    frames = [drawn(sampling_frame(*cell, 1), wanted(SMALLEST)) for cell in (plain, cut)]
    first = keyed(draw(frames[0], NO_KEY, FAMILIES, 0, 1), "first", "judge", 1)
    second = keyed(draw(pl.concat(frames), first, FAMILIES, 0, 1), "second", "judge", 1)
    assert set(second["perturbation"]) == {"truncate"}
    assert second["inclusion_probability"].to_list() == [1 / 20]
    assert not set(first.select(TURN_KEYS).rows()) & set(second.select(TURN_KEYS).rows())
