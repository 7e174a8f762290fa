"""Agreement and corrected rates: simulated people of known error rates are found again."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from tests.support.annotation_rounds import (
    FAMILIES,
    LABELS,
    NO_KEY,
    annotated,
    key_of,
    mistaken,
    study,
    together,
)
from userturn.figures.confusion import confusion_figure
from userturn.humans.import_labels import ANNOTATIONS_SCHEMA
from userturn.humans.labels import drawn_turns, people, weighted
from userturn.humans.rater_pairs import labelled_beside_judges
from userturn.humans.rounds import ITEMS_SCHEMA
from userturn.storage.key_columns import TURN_KEYS
from userturn.tables.agreement import agreement
from userturn.tables.confusion import confusion
from userturn.tables.corrected_rates import corrected_rates
from userturn.tables.disagreements import disagreements
from userturn.tables.rates import clustered_limits

NO_ANNOTATIONS = pl.DataFrame(schema=ANNOTATIONS_SCHEMA)
OTHER_JUDGE = "other"


def labels_of(n: int, share_genuine: float, seed: int) -> list[str]:
    """Return true labels: a share is genuine, the rest is spread over the other labels."""
    generator = np.random.default_rng(seed)
    rest = (1 - share_genuine) / (len(LABELS) - 1)
    return [str(x) for x in generator.choice(LABELS, n, p=[share_genuine] + [rest] * 5)]


def simulated(
    share_genuine: float = 0.3, judge_rate: float = 0.2, rates: dict[str, float] | None = None
) -> dict[str, Any]:
    """Return a study of three models, a judge and annotators with known rates of error."""
    generator = np.random.default_rng(7)
    cells, truth = [], {}
    for number, model in enumerate(FAMILIES):
        real = labels_of(400, share_genuine, seed=number)
        cells.append(study(mistaken(real, judge_rate, generator), model))
        truth.update(zip(cells[-1][0]["key"], real, strict=True))
    turns, verdicts = together(*cells)
    key = key_of(turns, verdicts, per_stratum=60, genuine=60)
    real = [truth[name] for name in key["key"]]
    rates = {"ann": 0.1, "bob": 0.1} if rates is None else rates
    given = {name: mistaken(real, rate, generator) for name, rate in rates.items()}
    annotations = annotated(key, **given) if given else NO_ANNOTATIONS
    return {
        "turns": turns,
        "verdicts": verdicts,
        "key": key,
        "annotations": annotations,
        "truth": truth,
    }


SIMULATED = simulated()


def tables_of(found: dict[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    return labelled_beside_judges(
        found["turns"], found["verdicts"], found["annotations"], found["key"], FAMILIES
    )


AGREEMENT = agreement(*tables_of(SIMULATED), LABELS, seed=1)


def measured(table: pl.DataFrame, **where: str) -> dict[str, Any]:
    (row,) = table.filter(pl.all_horizontal(pl.col(k) == v for k, v in where.items())).to_dicts()
    return dict(row)


def test_raw_agreement_of_two_people_is_what_their_errors_make() -> None:
    # Each is wrong in 10%, then with one of 5 labels: both right 0.81, both equally wrong 0.01 / 5.
    row = measured(
        AGREEMENT, comparison="human-human", first="ann", second="bob", scale="label",
        family="all", weights="study", coefficient="raw",
    )  # fmt: skip
    assert row["lower"] <= 0.812 <= row["upper"]
    assert row["upper"] - row["lower"] < 0.08


def test_agreement_of_judge_and_person_is_found_by_the_weights_not_by_the_sample() -> None:
    # The judge is right in 80%, Ann in 90%: 0.72 and 0.2 x 0.1 / 5. Genuine turns are rarer among
    # the drawn than in the study, and the judge's precision differs by label.
    row = measured(
        AGREEMENT, comparison="judge-human", first="judge", second="ann", scale="label",
        family="all", weights="study", coefficient="raw",
    )  # fmt: skip
    assert row["lower"] <= 0.724 <= row["upper"]


def test_weighted_agreement_is_that_of_the_whole_study() -> None:
    # A person without errors: weighted agreement is near that of judge and truth on all 1,200.
    found = simulated(share_genuine=0.6, rates={"ann": 0.0})
    judged = found["verdicts"].join(found["turns"].select(*TURN_KEYS, "key"), on=TURN_KEYS)
    right = judged["label"] == judged["key"].replace_strict(found["truth"])
    row = measured(
        agreement(*tables_of(found), LABELS, seed=1),
        comparison="judge-human", second="people", scale="label", family="all",
        weights="study", coefficient="raw",
    )  # fmt: skip
    assert row["estimate"] == pytest.approx(right.mean(), abs=0.03)


def test_kappa_of_the_sample_is_that_of_statsmodels() -> None:
    codes = SIMULATED["annotations"].pivot("annotator", index="id", values="genuine")
    table = np.zeros((2, 2))
    np.add.at(table, (codes["ann"].cast(pl.Int64), codes["bob"].cast(pl.Int64)), 1)
    row = measured(
        AGREEMENT, comparison="human-human", first="ann", second="bob", scale="genuine",
        family="all", weights="sample", coefficient="cohen_kappa",
    )  # fmt: skip
    assert row["estimate"] == pytest.approx(cohens_kappa(table, return_results=False))


def test_every_family_has_rows_of_its_own() -> None:
    assert set(AGREEMENT["family"].drop_nulls()) == {"all", "a", "b"}
    assert AGREEMENT.filter(pl.col("family") == "b")["estimate"].null_count() == 0


def test_three_people_have_alpha_together_but_no_kappa() -> None:
    found = simulated(rates={"ann": 0.1, "bob": 0.1, "eve": 0.5})
    table = agreement(*tables_of(found), LABELS, seed=1)
    all_three = table.filter(pl.col("first") == "people", pl.col("family") == "all")
    assert set(all_three["coefficient"]) == {"raw", "krippendorff_alpha", "gwet_ac1"}


def test_judges_are_compared_on_all_turns() -> None:
    second = SIMULATED["verdicts"].with_columns(judge=pl.lit(OTHER_JUDGE))
    found = SIMULATED | {"verdicts": pl.concat([SIMULATED["verdicts"], second])}
    table = agreement(*tables_of(found | {"annotations": NO_ANNOTATIONS}), LABELS, seed=1)
    row = measured(
        table, comparison="judge-judge", scale="label", family="all", coefficient="cohen_kappa"
    )
    assert (row["n_turns"], row["estimate"]) == (1200, 1)


@pytest.mark.parametrize(
    ("rates", "reason"),
    [({}, "no annotations yet"), ({"ann": 0.1}, "one annotator only, two are needed")],
)
def test_too_few_people_are_a_row_with_a_reason(rates: dict[str, float], reason: str) -> None:
    table = agreement(*tables_of(simulated(rates=rates)), LABELS, seed=1)
    row = table.filter(pl.col("comparison") == "human-human").row(0, named=True)
    assert (row["estimate"], row["reason"]) == (None, reason)


def test_confusion_counts_add_up_and_rows_are_shares() -> None:
    table = confusion(*tables_of(SIMULATED)).filter(
        pl.col("comparison") == "judge-human", pl.col("first") == "ann"
    )
    assert table["n"].sum() == SIMULATED["key"].height
    assert table.group_by("label_first").agg(pl.sum("share_of_first"))["share_of_first"].round(
        9
    ).to_list() == [1] * len(LABELS)


@pytest.mark.parametrize("rates", [{}, {"ann": 0.1}])
def test_confusion_is_drawn_with_and_without_annotations(rates: dict[str, float]) -> None:
    chart = confusion_figure(confusion(*tables_of(simulated(rates=rates))), LABELS).to_json()
    assert ("no annotations yet" in chart) == (not rates)


def test_turns_that_people_and_judge_see_differently_are_listed_for_reading() -> None:
    turns, verdicts = study([LABELS[0], LABELS[3], LABELS[4]])
    key = key_of(turns, verdicts)
    by_item = dict(zip(key["item"], key["id"], strict=True))
    annotations = annotated(key, ann=[LABELS[3]] * 3, bob=[LABELS[3]] * 3)
    labelled, _ = labelled_beside_judges(turns, verdicts, annotations, key, FAMILIES)
    items = pl.DataFrame(
        [
            {"id": i, "conversation": [{"role": "user", "text": "Why?"}], "turn": "Because."}
            for i in key["id"]
        ],
        schema=ITEMS_SCHEMA,
    )
    table = disagreements(labelled, verdicts, items, private=[])
    assert table.select("id", "judge_label", "differ_in_genuine").rows() == [
        (by_item["i0000"], LABELS[0], True),
        (by_item["i0002"], LABELS[4], False),
    ]
    assert table["conversation"][0] == "user: Why?"
    assert table["labels"][0] == "ann: generic; bob: generic"
    hidden = disagreements(labelled, verdicts, items, private=["d"])
    assert hidden.height == 2
    assert hidden.select("turn", "conversation", "rationale").null_count().row(0) == (2, 2, 2)


def rates_of(found: dict[str, Any]) -> pl.DataFrame:
    return corrected_rates(
        found["turns"], found["verdicts"], found["annotations"], found["key"], FAMILIES
    )


def test_corrected_rates_hold_the_truth_where_the_plain_rate_misses_it() -> None:
    # 30% are genuine; a judge wrong in 40% calls 0.3 x 0.6 + 0.7 x 0.4 / 5 = 24% so.
    found = simulated(judge_rate=0.4, rates={"ann": 0.0})
    everything = rates_of(found).filter(pl.col("scope") == "all").row(0, named=True)
    real = np.mean([label == LABELS[0] for label in found["truth"].values()])
    assert everything["lower"] <= real <= everything["upper"]
    assert everything["plain_upper"] < real
    assert everything["upper"] - everything["lower"] < 0.1


def test_every_cell_pool_and_judge_has_a_row() -> None:
    table = rates_of(SIMULATED)
    assert dict(table.group_by("scope").len().iter_rows()) == {
        "cell": 3, "model and temperature": 3, "model": 3, "family": 2, "all": 1,
    }  # fmt: skip
    assert table["estimate"].null_count() == 0
    assert (table["lower"] <= table["estimate"]).all()
    assert (table["estimate"] <= table["upper"]).all()


def test_contrast_is_the_difference_of_two_corrected_cells() -> None:
    labels = [LABELS[0], LABELS[3]] * 50
    plain, cut = study(labels), study([LABELS[3]] * 100, perturbation="truncate")
    warm = study(labels, temperature=1.0)
    turns, verdicts = together(plain, cut, warm)
    key = key_of(turns, verdicts, per_stratum=20, genuine=20)
    agreed = key.join(verdicts, on=TURN_KEYS, maintain_order="left")["label"].to_list()
    table = corrected_rates(turns, verdicts, annotated(key, ann=agreed), key, FAMILIES)
    contrasts = table.filter(pl.col("scope") == "contrast")
    assert contrasts.select("perturbation", "temperature", "against", "estimate").rows() == [
        ("truncate", 0.0, "perturbation none", -0.5),
        ("none", 1.0, "temperature 0", 0.0),
    ]
    assert (contrasts["lower"] < contrasts["estimate"]).all()


def of_dataset(cell: tuple[pl.DataFrame, pl.DataFrame], name: str) -> Any:
    """Return a cell of another dataset than `d`."""
    turns, verdicts = (table.with_columns(dataset=pl.lit(name)) for table in cell)
    return turns.with_columns(key=pl.format("{} {}", pl.lit(name), "key")), verdicts


def fully_labelled(*cells: tuple[pl.DataFrame, pl.DataFrame]) -> pl.DataFrame:
    """Return corrected rates where people agree with the judge on every turn."""
    turns, verdicts = together(*cells)
    key = key_of(turns, verdicts, per_stratum=1000, genuine=1000)
    agreed = key.join(verdicts, on=TURN_KEYS, maintain_order="left")["label"].to_list()
    return corrected_rates(turns, verdicts, annotated(key, ann=agreed), key, FAMILIES)


HALF, NONE = [LABELS[0], LABELS[3]] * 20, [LABELS[3]] * 20


def test_model_has_a_rate_at_each_temperature_and_under_each_perturbation() -> None:
    # Dataset d has 20 of 40 genuine turns, e none of 20: 20 / 60.
    table = fully_labelled(
        study(HALF),
        of_dataset(study(NONE), "e"),
        study(HALF, temperature=1.0),
        study(NONE, perturbation="truncate"),
    )
    rows = table.filter(pl.col("scope") == "model and temperature")
    assert rows.select("temperature", "perturbation", "n_turns", "estimate").rows() == [
        (0.0, "none", 60, pytest.approx(1 / 3)),
        (0.0, "truncate", 20, 0),
        (1.0, "none", 40, 0.5),
    ]
    assert rows["plain_estimate"].to_list() == pytest.approx([1 / 3, 0, 0.5])


def test_pools_never_mix_perturbations() -> None:
    table = fully_labelled(study(HALF), study(NONE, perturbation="truncate"))
    pools = table.filter(pl.col("scope").is_in(["model", "family", "all"]))
    assert set(pools.select("perturbation", "estimate").iter_rows()) == {
        ("none", 0.5),
        ("truncate", 0.0),
    }


def test_contrast_over_datasets_is_on_the_items_that_both_conditions_have() -> None:
    # Only dataset d was perturbed: its 20 first items were half genuine, and are none then.
    table = fully_labelled(
        study(HALF), of_dataset(study(HALF), "e"), study(NONE, perturbation="truncate")
    )
    row = table.filter(pl.col("scope") == "contrast over datasets").row(0, named=True)
    assert (row["against"], row["n_turns"], row["estimate"]) == ("perturbation none", 40, -0.5)
    assert row["lower"] < -0.5 < row["upper"]


def test_plain_rate_of_a_cell_has_the_interval_of_the_table_of_rates() -> None:
    turns, verdicts = study(HALF)
    again = verdicts.with_columns(sample=pl.lit(1, dtype=pl.Int64))
    several = pl.concat([verdicts.with_columns(pl.col("sample").cast(pl.Int64)), again])
    more = turns.with_columns(sample=pl.lit(1, dtype=pl.Int64), key=pl.format("{} 1", "key"))
    both = pl.concat([turns.with_columns(pl.col("sample").cast(pl.Int64)), more])
    row = corrected_rates(both, several, NO_ANNOTATIONS, NO_KEY, FAMILIES).row(0, named=True)
    limits = clustered_limits(several)
    assert (row["plain_lower"], row["plain_upper"]) == (limits["lower"], limits["upper"])
    assert row["plain_upper"] - row["plain_lower"] > 0.29  # of 40 items, not of 80 turns


def test_no_annotations_are_a_reason_in_every_row() -> None:
    table = rates_of(simulated(rates={}))
    assert set(table["reason"]) == {"no annotations yet"}
    assert table["estimate"].null_count() == table.height
    assert table["plain_estimate"].null_count() == 0


def test_cell_that_came_after_the_round_says_so_and_pools_leave_it_out() -> None:
    grown = together(
        (SIMULATED["turns"], SIMULATED["verdicts"]), study([LABELS[0]] * 50, temperature=1.0)
    )
    table = rates_of(SIMULATED | {"turns": grown[0], "verdicts": grown[1]})
    new = table.filter(pl.col("scope") == "cell", pl.col("temperature") == 1.0).row(0, named=True)
    assert "was drawn; name a new round" in new["reason"]
    assert table.filter(pl.col("scope") == "all")["n_turns"][0] == 1200


def test_turns_that_a_changed_setting_replaced_count_no_more() -> None:
    changed = pl.when(pl.col("model") == "b-1b").then(pl.lit("new")).otherwise("key")
    found = SIMULATED | {"turns": SIMULATED["turns"].with_columns(key=changed)}
    table = rates_of(found)
    lost = table.filter(pl.col("scope") == "cell", pl.col("model") == "b-1b").row(0, named=True)
    assert (lost["n_labelled"], lost["estimate"]) == (0, None)


def test_half_done_round_counts_what_is_done_for_all_that_was_drawn() -> None:
    # 2 of 4 drawn of 10 turns are labelled: each stands for 5 turns.
    turns, _ = study([LABELS[0]] * 10)
    key = key_of(*study([LABELS[0]] * 10), genuine=4)
    done = weighted(drawn_turns(key, turns), key.head(2), ["stratum"])
    assert done["weight"].to_list() == [5, 5]


def test_tie_of_people_is_no_majority_and_half_a_genuine_turn() -> None:
    key = key_of(*study([LABELS[0]]))
    row = people(annotated(key, ann=[LABELS[0]], bob=[LABELS[3]])).row(0, named=True)
    assert (row["label"], row["share_genuine"]) == (None, 0.5)


def test_no_round_at_all_is_no_crash(tmp_path: Path) -> None:
    found = SIMULATED | {"key": NO_KEY, "annotations": NO_ANNOTATIONS}
    assert rates_of(found)["estimate"].null_count() == rates_of(found).height
    assert agreement(*tables_of(found), LABELS, seed=1)["reason"].null_count() == 0
