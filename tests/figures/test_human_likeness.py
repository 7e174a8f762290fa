"""Figure `human_likeness`: what it draws of the table, and what it says before anybody labelled."""

import json

import polars as pl

from tests.support.paired_study import SEED, pair_key, paired_of, turns_of
from tests.tables.test_human_likeness import labels_of
from userturn.figures.human_likeness import human_likeness as figure
from userturn.tables.human_likeness import human_likeness

FAMILIES = pl.DataFrame({"model": ["a-1b"], "family": ["a"], "size": [1.0]})
COLD, WARM = turns_of(20), turns_of(20, temperature=1.0)
PAIRED = paired_of(COLD, WARM, n=20)
OTHER = PAIRED.with_columns(
    dataset=pl.lit("e"), conversation=pl.col("conversation") + "e", key=pl.col("key") + "e"
)


def drawn(paired: pl.DataFrame, is_labelled: bool = True) -> str:
    key = pair_key(paired, 5)
    labels = labels_of(key, {"Ann": [False] * key.height} if is_labelled else {})
    return json.dumps(figure(human_likeness(paired, key, labels, SEED), FAMILIES, "j").to_dict())


def test_nobodys_labels_are_one_sentence() -> None:
    assert "nobody has labelled a pair yet" in drawn(PAIRED, is_labelled=False)


def test_a_point_is_a_cell_and_several_datasets_have_a_line_of_all() -> None:
    one, two = drawn(PAIRED), drawn(pl.concat([PAIRED, OTHER]))
    assert "0.0% [0.0, 43.4]" in one  # Wilson of 0 of 5: z² / (5 + z²)
    assert "all datasets" not in one
    assert "0.0% [0.0, 27.8]" in two  # of all datasets: 0 of 10
    assert "all datasets" in two
    assert "judge" not in one
