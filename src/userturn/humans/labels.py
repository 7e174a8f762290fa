"""People's labels, and how many turns of the study each represents."""

from collections.abc import Sequence

import polars as pl

from userturn.humans.import_labels import ANNOTATIONS_SCHEMA
from userturn.humans.rounds import KEY_SCHEMA
from userturn.storage.table_files import STRATUM_KEYS, TURN_KEYS, read_tables

PEOPLE = "people"  # all annotators together
NO_LABELS = "no annotations yet"
VERDICTS = [*TURN_KEYS, "judge", "label", "genuine", "rationale"]


def read_annotations_and_keys(
    paths_to_annotations: Sequence[str], paths_to_keys: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the labels and the keys of all rounds."""
    return (
        read_tables(paths_to_annotations, ANNOTATIONS_SCHEMA),
        read_tables(paths_to_keys, KEY_SCHEMA),
    )


def drawn_turns(keys: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Return the drawn turns that the study still has, with their probability over all rounds.

    Args:
        keys: keys of all rounds.
        turns: user turns; a turn that was replaced after the draw has another `key`.
    """
    held = keys.join(turns.select(*TURN_KEYS, "key"), on=[*TURN_KEYS, "key"], how="semi")
    return held.sort("round", "id").with_columns(
        inclusion_probability=(pl.max("n_drawn") / pl.max("stratum_size")).over(STRATUM_KEYS)
    )


def weighted(drawn: pl.DataFrame, labelled: pl.DataFrame, classes: Sequence[str]) -> pl.DataFrame:
    """Return the labelled turns with `weight`: how many turns of the study each represents.

    It is the inverse of the probability of being drawn, scaled up within classes for drawn turns
    without a label (weighting-class adjustment: Lohr 2019, Sampling, section 8.5). In a
    stratum of N turns, n of them labelled, that is N / n.

    Args:
        drawn: the result of `drawn_turns`.
        labelled: a table with the `id` of each labelled turn.
        classes: the columns of `drawn` that define the classes.
    """
    inverse = 1 / pl.col("inclusion_probability")
    is_labelled = pl.col("id").is_in(labelled["id"].to_list())
    scale = inverse.sum() / inverse.filter(is_labelled).sum()
    return drawn.with_columns(weight=inverse * scale.over(list(classes))).filter(is_labelled)


def n_unlabelled_classes(drawn: pl.DataFrame, labelled: pl.DataFrame, column: str) -> int:
    """Return how many classes have drawn turns but no label."""
    with_labels = drawn.filter(pl.col("id").is_in(labelled["id"].to_list()))
    return drawn[column].n_unique() - with_labels[column].n_unique()


def people(annotations: pl.DataFrame) -> pl.DataFrame:
    """Return one row per labelled turn with the labels of all its annotators.

    Returns:
        `id`; `share_genuine`, the share of annotators who call it genuine; `label`, the most
        frequent one, null for a tie; `labels`, one per annotator.
    """
    votes = annotations.group_by("id", "label").agg(n=pl.len())
    most = votes.filter(pl.col("n") == pl.col("n").max().over("id")).group_by("id")
    majority = most.agg(label=pl.when(pl.len() == 1).then(pl.first("label")))
    said = pl.format("{}: {}", "annotator", "label").sort_by("annotator").str.join("; ")
    together = annotations.group_by("id").agg(share_genuine=pl.mean("genuine"), labels=said)
    return together.join(majority, on="id").sort("id")
