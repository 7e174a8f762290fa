"""Which raters are compared: people with people, judges with people, judges with judges."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

from userturn.humans.labels import PEOPLE, drawn_turns, people, weighted
from userturn.judges.verdict import GENUINE
from userturn.storage.table_files import TURN_KEYS

PEOPLE_GENUINE = "people, genuine or not"  # their majority on that scale


class Comparison(NamedTuple):
    """Raters that are compared on the turns that they labelled.

    Attributes:
        kind: human-human, judge-human or judge-judge.
        first: first rater, or `people` for all annotators.
        second: second rater, or `people` for all annotators or their majority.
        table: one row per turn: `family`, `dataset`, `item`, `weight` and one label per rater.
        raters: the columns of the raters.
    """

    kind: str
    first: str
    second: str
    table: pl.DataFrame
    raters: list[str]


def _wide(labels: pl.DataFrame, on: str, index: Sequence[str]) -> pl.DataFrame:
    """Return one row per turn and one column per rater."""
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
    """Return the turns that people labelled, and all turns of the study, one column per rater.

    Args:
        turns: user turns of all cells: key columns and `key`.
        verdicts: verdicts of all judges on them.
        annotations: people's labels of all rounds.
        keys: keys of all rounds.
        families: model family by model.
    """
    family = pl.col("model").replace_strict(families, return_dtype=pl.String)
    judged = _wide(verdicts, "judge", TURN_KEYS).sort(TURN_KEYS)
    drawn = drawn_turns(keys, turns).unique(TURN_KEYS, keep="first", maintain_order=True)
    labelled = (
        weighted(drawn, annotations, ["family", "stratum"])
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
    """Return the name of each judge by its column, of turns with one column per rater."""
    return {
        name: name.removeprefix("judge ") for name in turns.columns if name.startswith("judge ")
    }


def comparisons(labelled: pl.DataFrame, judged: pl.DataFrame) -> Iterator[Comparison]:
    """Yield every comparison for which there are raters.

    Args:
        labelled: the turns that people labelled, one column per rater; `people` is their majority.
        judged: all turns of the study, one column per judge.
    """
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
