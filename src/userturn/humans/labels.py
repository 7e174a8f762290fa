"""People's labels, how many turns of the study each represents, and which raters are compared."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

from userturn.humans.import_labels import ANNOTATIONS_SCHEMA
from userturn.humans.rounds import KEY_SCHEMA
from userturn.judges.verdict import GENUINE
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

    A turn that was replaced after the draw has another `key`, and is left out.
    """
    matching = keys.join(turns.select(*TURN_KEYS, "key"), on=[*TURN_KEYS, "key"], how="semi")
    return matching.sort("round", "id").with_columns(
        inclusion_probability=(pl.max("n_drawn") / pl.max("stratum_size")).over(STRATUM_KEYS)
    )


def weighted(drawn: pl.DataFrame, labelled: pl.DataFrame, classes: Sequence[str]) -> pl.DataFrame:
    """Return the labelled turns with `weight`: how many turns of the study each represents.

    The weight is the inverse of the probability of being drawn. Within each class it is scaled up
    for drawn turns without a label (weighting-class adjustment: Lohr 2019, Sampling, section 8.5).
    If a class is one stratum of N turns, n of them labelled, it is N / n. `classes` are columns of
    `drawn`, the result of `drawn_turns`. `labelled` has the `id` of each labelled turn.
    """
    inverse = 1 / pl.col("inclusion_probability")
    is_labelled = pl.col("id").is_in(labelled["id"].to_list())
    scale = inverse.sum() / inverse.filter(is_labelled).sum()
    return drawn.with_columns(weight=inverse * scale.over(list(classes))).filter(is_labelled)


def people(annotations: pl.DataFrame) -> pl.DataFrame:
    """Return one row per labelled turn with the labels of all its annotators.

    The columns are `id`; `share_genuine`, the share of annotators who call it genuine; `label`, the
    most frequent label, null for a tie; `labels`, a text with one label per annotator.
    """
    votes = annotations.group_by("id", "label").agg(n=pl.len())
    most = votes.filter(pl.col("n") == pl.col("n").max().over("id")).group_by("id")
    majority = most.agg(label=pl.when(pl.len() == 1).then(pl.first("label")))
    labels = pl.format("{}: {}", "annotator", "label").sort_by("annotator").str.join("; ")
    together = annotations.group_by("id").agg(share_genuine=pl.mean("genuine"), labels=labels)
    return together.join(majority, on="id").sort("id")


PEOPLE_GENUINE = "people, genuine or not"  # column of people's majority on this scale


class Comparison(NamedTuple):
    """Raters that are compared on the turns that they labelled."""

    kind: str  # human-human, judge-human or judge-judge
    first: str  # first rater, or `people` for all annotators
    second: str  # second rater, or `people` for all annotators or their majority
    # One row per turn: `family`, `dataset`, `item`, `weight` and one label per rater.
    table: pl.DataFrame
    raters: list[str]  # the columns of `table` with their labels


def _wide(labels: pl.DataFrame, on: str, index: Sequence[str]) -> pl.DataFrame:
    names = sorted(labels[on].unique())
    columns = [
        pl.col("label").filter(pl.col(on) == name).first().alias(f"{on} {name}") for name in names
    ]
    return labels.group_by(index, maintain_order=True).agg(columns)


def labelled_beside_judges(
    turns: pl.DataFrame,
    verdicts: pl.DataFrame,
    annotations: pl.DataFrame,
    keys: pl.DataFrame,
    families: Mapping[str, str],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the turns that people labelled, and all judged turns, with one column per rater.

    The columns are `judge <name>`, `annotator <name>`, `people` and `PEOPLE_GENUINE`. `families`
    has each model's family.
    """
    family = pl.col("model").replace_strict(families, return_dtype=pl.String)
    judged = _wide(verdicts, "judge", TURN_KEYS).sort(TURN_KEYS)
    sampled = drawn_turns(keys, turns).unique(TURN_KEYS, keep="first", maintain_order=True)
    labelled = (
        weighted(sampled, annotations, ["family", "stratum"])
        .join(people(annotations).rename({"label": PEOPLE}), on="id", maintain_order="left")
        .with_columns(
            pl.when(pl.col("share_genuine") > 0.5)
            .then(pl.lit(GENUINE))
            .when(pl.col("share_genuine") < 0.5)
            .then(pl.lit("not genuine"))
            .alias(PEOPLE_GENUINE)
        )
        .join(_wide(annotations, "annotator", ["id"]), on="id", maintain_order="left")
        .join(judged, on=TURN_KEYS, how="left", maintain_order="left")
    )
    return labelled, judged.with_columns(family=family, weight=pl.lit(1.0))


def judges_of(turns: pl.DataFrame) -> dict[str, str]:
    """Return the judges' names by column, for turns with one column per rater."""
    return {
        name: name.removeprefix("judge ") for name in turns.columns if name.startswith("judge ")
    }


def comparisons(labelled: pl.DataFrame, judged: pl.DataFrame) -> Iterator[Comparison]:
    """Yield every comparison for which there are raters, from `labelled_beside_judges`."""
    annotators = [name for name in labelled.columns if name.startswith("annotator ")]
    judges = list(judges_of(judged))
    short = {name: name.split(" ", 1)[1] for name in annotators + judges}
    if len(annotators) > 2:
        yield Comparison("human-human", PEOPLE, PEOPLE, labelled, annotators)
    for pair in combinations(annotators, 2):
        yield Comparison("human-human", short[pair[0]], short[pair[1]], labelled, list(pair))
    for judge in judges if annotators else []:
        yield Comparison("judge-human", short[judge], PEOPLE, labelled, [judge, PEOPLE])
        for name in annotators if len(annotators) > 1 else []:
            yield Comparison("judge-human", short[judge], short[name], labelled, [judge, name])
    for pair in combinations(judges, 2):
        yield Comparison("judge-judge", short[pair[0]], short[pair[1]], judged, list(pair))
