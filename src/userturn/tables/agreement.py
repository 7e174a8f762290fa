"""Agreement of raters: people with people, judges with people, judges with judges."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from userturn.datasets.turns import clusters
from userturn.humans.labels import NO_LABELS, PEOPLE, PEOPLE_GENUINE, Comparison, comparisons
from userturn.judges.verdict import GENUINE
from userturn.stats.agreement import COEFFICIENTS, Ratings, estimate_all
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL

IN_SCALE: Mapping[str, Mapping[str, str]] = {"genuine": {PEOPLE: PEOPLE_GENUINE}, "label": {}}
AGREEMENT: Schema = {
    **dict.fromkeys(("part", "first", "second", "scale", "group", "weights", "measure"), pl.String),
    **dict.fromkeys(("n_turns", "n_conversations"), pl.Int64),
    **dict.fromkeys(("estimate", "lower", "upper"), pl.Float64),
    "reason": pl.String,
}


def ratings(table: pl.DataFrame, raters: Sequence[str], scale: Sequence[str]) -> Ratings:
    """Return the labels of several raters as positions in a scale.

    The table has a column per rater, `weight` of the turn, and `dataset` and `item`, which make a
    cluster. If the scale has two labels, any other label counts as the second.
    """
    positions = {label: position for position, label in enumerate(scale)}
    other = 1 if len(scale) == 2 else None
    codes = [
        pl.when(pl.col(rater).is_not_null())
        .then(pl.col(rater).replace_strict(positions, default=other, return_dtype=pl.Int64))
        .fill_null(-1)
        .alias(f"rater {position}")
        for position, rater in enumerate(raters)
    ]
    together = table.select(pl.concat_str("dataset", clusters(), separator="\n")).to_series()
    return Ratings(
        table.select(codes).to_numpy(), table["weight"].to_numpy(), together.to_numpy(), len(scale)
    )


def _rows(comparison: Comparison, labels: Sequence[str], seed: int) -> Iterator[dict[str, Any]]:
    for family in (ALL, *sorted(comparison.table["family"].unique())):
        for scale in IN_SCALE:
            for weights in ("study",) if comparison.kind == "judge-judge" else ("study", "sample"):
                yield from coefficients(comparison, scale, family, weights, labels, seed)


def coefficients(
    comparison: Comparison, scale: str, family: str, weights: str, labels: Sequence[str], seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a comparison on one scale, for one family or all, with one kind of weights.

    The scale is `genuine`, or `label` for the exact label. `family` may be `all`. `weights` is
    `study`, where each turn counts as many as it represents, or `sample`, where each counts once.
    """
    kind, first, second, table, raters = comparison
    of_scale = [GENUINE, "not genuine"] if scale == "genuine" else list(labels)
    names = [name for name in COEFFICIENTS if len(raters) == 2 or name != "cohen_kappa"]
    part = table if family == ALL else table.filter(family=family)
    columns = [IN_SCALE[scale].get(rater, rater) for rater in raters]
    seen = part.filter(pl.sum_horizontal(pl.col(c).is_not_null() for c in columns) > 1)
    counts = (seen.height, seen.select("dataset", clusters()).n_unique())
    where = [kind, first, second, scale, family, weights]
    generator = np.random.default_rng(int(fingerprint([seed, where]), 16))
    rated = ratings(part, columns, of_scale)
    if weights == "sample":
        rated = rated._replace(weights=np.ones(len(rated.weights)))
    for name, coefficient in estimate_all(rated, names, generator).items():
        yield dict(zip(AGREEMENT, [*where, name, *counts, *coefficient], strict=True))


def agreement(
    labelled: pl.DataFrame, judged: pl.DataFrame, labels: Sequence[str], seed: int
) -> pl.DataFrame:
    """Return every coefficient of every comparison, and for a kind without one a row that says why.

    `labelled` and `judged` are those of `labelled_beside_judges`, `labels` those of the rubric.
    """
    compared = list(comparisons(labelled, judged))
    rows = [row for comparison in compared for row in _rows(comparison, labels, seed)]
    n_annotators = sum(name.startswith("annotator ") for name in labelled.columns)
    reasons = {
        "human-human": "one annotator only, two are needed" if n_annotators else NO_LABELS,
        "judge-human": NO_LABELS,
        "judge-judge": "one judge only, two are needed",
    }
    have = {comparison.kind for comparison in compared}
    rows += [
        {"part": k, "group": ALL, "reason": why} for k, why in reasons.items() if k not in have
    ]
    return pl.DataFrame(rows, schema=AGREEMENT)
