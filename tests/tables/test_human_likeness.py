"""Table `human_likeness`: shares, intervals, tests and counts derived by hand."""

from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from tests.support.paired_study import SEED, pair_key, paired_of, turns_of
from userturn.humans.import_labels import PAIR_LABELS_SCHEMA, _join_key
from userturn.humans.label_files import Row
from userturn.stats.proportions import wilson
from userturn.tables.human_likeness import NO_PAIR, NOTHING_LEFT, SCHEMA, human_likeness

OTHER_SIDE = {"first": "second", "second": "first"}


def labels_of(
    key: pl.DataFrame, chosen: Mapping[str, Sequence[bool]], unsure: bool = False
) -> pl.DataFrame:
    """Return labels of a key's pairs by annotator; true where the model's turn is chosen."""
    rows = [
        Row("", "pairs", name, id, OTHER_SIDE[person] if fooled else person, "", unsure, 1.0)
        for name, of_pairs in chosen.items()
        for id, person, fooled in zip(key["id"], key["person"], of_pairs, strict=True)
    ]
    chosen = pl.col("label") != pl.col("person")
    return _join_key(rows, key, PAIR_LABELS_SCHEMA, model_chosen=chosen)


def row(table: pl.DataFrame, scope: str, **values: object) -> dict[str, object]:
    """Return the only row of a scope with some values."""
    found = table.filter(pl.col("scope") == scope, *(pl.col(k) == v for k, v in values.items()))
    (only,) = found.rows(named=True)
    return only


PAIRED = paired_of(turns_of(6), n=6)
KEY = pair_key(PAIRED, 6)


def test_one_annotator_has_wilsons_interval_and_the_exact_binomial_test() -> None:
    labels = labels_of(KEY, {"Ann": [True, False, False, False, False, False]})
    found = row(human_likeness(PAIRED, KEY, labels, SEED), "cell")
    assert (found["n_chosen"], found["n_labels"], found["n_labelled"]) == (1, 6, 6)
    assert (found["estimate"], found["lower"], found["upper"]) == wilson(1, 6)
    # Of 6 fair coins at most 1 or at least 5 are heads: 2 (1 + 6) / 2⁶.
    assert found["p"] == pytest.approx(14 / 64)
    assert found["agreement"] is None
    assert found["reason"] is None


def test_labels_of_two_annotators_who_always_agree_are_worth_one_of_each_pair() -> None:
    chosen = [True, False, False, False, False, False]
    alone = human_likeness(PAIRED, KEY, labels_of(KEY, {"Ann": chosen}), SEED)
    both = human_likeness(PAIRED, KEY, labels_of(KEY, {"Ann": chosen, "Bea": chosen}), SEED)
    one, two = row(alone, "cell"), row(both, "cell")
    assert (two["n_labels"], two["n_labelled"], two["estimate"]) == (12, 6, one["estimate"])
    assert two["p"] == pytest.approx(one["p"])
    # The design effect has half a pair of either kind added, so it is 2 but for rounding.
    assert two["lower"] == pytest.approx(one["lower"], abs=0.005)
    assert two["upper"] == pytest.approx(one["upper"], abs=0.005)
    assert two["agreement"] == 1


def test_annotators_who_contradict_each_other_everywhere_show_nothing_against_a_half() -> None:
    ann = [True, False] * 3
    labels = labels_of(KEY, {"Ann": ann, "Bea": [not fooled for fooled in ann]})
    found = row(human_likeness(PAIRED, KEY, labels, SEED), "cell")
    assert (found["estimate"], found["p"], found["agreement"]) == (0.5, 1.0, 0.0)


def test_several_annotators_have_a_row_each_and_one_alone_has_none() -> None:
    labels = labels_of(KEY, {"Ann": [False] * 6, "Bea": [True] * 3 + [False] * 3})
    table = human_likeness(PAIRED, KEY, labels, SEED)
    assert row(table, "study")["estimate"] == 0.25
    assert row(table, "annotator", annotator="Ann")["estimate"] == 0
    assert row(table, "annotator", annotator="Bea")["estimate"] == 0.5
    only = labels.filter(annotator="Ann")
    assert "annotator" not in human_likeness(PAIRED, KEY, only, SEED)["scope"].to_list()


def test_labels_that_are_not_sure_count_and_are_counted_as_are_those_of_the_first_place() -> None:
    labels = labels_of(KEY, {"Ann": [False] * 6}, unsure=True)
    found = row(human_likeness(PAIRED, KEY, labels, SEED), "study")
    assert (found["n_unsure"], found["n_first"], found["n_labels"]) == (6, 3, 6)


def test_models_and_temperatures_have_their_own_rows_whose_p_is_adjusted_over_the_scope() -> None:
    cells = [turns_of(40, m, t) for m in ("a-1b", "b-1b") for t in (0.0, 1.0)]
    paired = paired_of(*cells, n=40)
    key = pair_key(paired, 5)
    fooled = [model == "b-1b" for model in key["model"]]
    table = human_likeness(paired, key, labels_of(key, {"Ann": fooled}), SEED)
    assert table.schema == SCHEMA
    assert table["scope"].value_counts().sort("scope").rows() == [
        ("cell", 4), ("model", 2), ("model and temperature", 4), ("study", 1),
    ]  # fmt: skip
    assert row(table, "model", model="b-1b")["estimate"] == 1
    assert row(table, "study")["estimate"] == 0.5
    warm = row(table, "model and temperature", model="a-1b", temperature=1.0)
    assert warm["p"] == pytest.approx(2 / 2**5)
    assert warm["p_adjusted"] == pytest.approx(4 * 2 / 2**5)  # the smallest of four
    assert row(table, "model", model="a-1b")["p_adjusted"] == pytest.approx(2 * 2 / 2**10)


def test_turns_in_no_pair_are_counted_and_a_replaced_turn_takes_its_labels_along() -> None:
    turns = turns_of(6).with_columns(
        finish_reason=pl.Series(["length", "length", "stop", "stop", "stop", "stop"]),
        outcome=pl.Series(["ok", "ok", "error", "ok", "ok", "ok"]),
    )
    paired = paired_of(turns, n=6)
    key = pair_key(paired, 6)
    labels = labels_of(key, {"Ann": [False] * 3})
    found = row(human_likeness(paired, key, labels, SEED), "cell")
    names = ("n_turns", "n_failed", "n_cut", "n_same", "n_pairs", "n_labels")
    assert [found[name] for name in names] == [6, 1, 2, 0, 3, 3]
    replaced = paired.with_columns(key=pl.when(pl.col("item") != key["item"][0]).then("key"))
    found = row(human_likeness(replaced, key, labels, SEED), "cell")
    assert [found[name] for name in names] == [6, 1, 2, 0, 2, 2]


def test_a_round_that_nobody_labelled_and_a_cell_without_a_pair_say_so() -> None:
    none = labels_of(KEY, {})
    table = human_likeness(PAIRED, KEY, none, SEED)
    assert set(table["reason"]) == {"no annotations yet"}
    assert table.select("estimate", "lower", "upper", "p", "p_adjusted").null_count().row(0) == (
        (table.height,) * 5
    )
    cut = PAIRED.with_columns(left_out=pl.lit("cut"))
    assert set(human_likeness(cut, KEY.clear(), none, SEED)["reason"]) == {NOTHING_LEFT}
    without = human_likeness(PAIRED, KEY.clear(), none, SEED)
    assert set(without["reason"]) == {NO_PAIR}
    assert row(without, "study")["n_turns"] == 6


def test_equal_labels_in_another_order_have_equal_rows() -> None:
    labels = labels_of(KEY, {"Ann": [True, False] * 3, "Bea": [True] * 6, "Cem": [False] * 6})
    table = human_likeness(PAIRED, KEY, labels, SEED)
    assert human_likeness(PAIRED.reverse(), KEY.reverse(), labels.reverse(), SEED).equals(table)
