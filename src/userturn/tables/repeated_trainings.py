"""Contrasts of a recipe that was trained several times: its trainings are a draw, as items are."""

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from math import hypot, inf
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from userturn.config.families import Pair, Trainings
from userturn.stats.margins import Counts, change
from userturn.stats.proportions import CONFIDENCE, Floats, Interval, student_of
from userturn.stats.significance import Limits
from userturn.tables.added_columns import HELD_OUT
from userturn.tables.contrast_tests import COMPARED_SCHEMA, SCOPES, compare
from userturn.tables.item_pairs import (
    Cells,
    Columns,
    Pairs,
    compared,
    scoped_contrasts,
    scored_margins,
)

SMALLEST = 1e-9  # smaller p-values are not told apart


def distance(changes: ArrayLike, confidence: float = CONFIDENCE) -> float:
    """Return the distance from the mean change to the limit that is due to training seeds alone.

    It is Student's limit of the mean over k trainings, at k - 1 degrees of freedom, and infinite
    for one training.
    """
    each = np.asarray(changes, dtype=np.float64)
    if len(each) < 2:
        return inf
    return float(student_of(confidence, len(each)) * each.std(ddof=1) / np.sqrt(len(each)))


def widen_by_trainings(
    within: Interval, changes: ArrayLike, confidence: float = CONFIDENCE
) -> Interval:
    """Return a change with limits over items and trainings, from its interval over items alone.

    `changes` are two or more, each by one training. `within` is the interval over items at this
    confidence. The squared distances to the limits add up (Banerjee 1960, Sankhya 22:19-28: for
    independent normal parts the confidence is at least the stated one, whatever their variances).
    What items and trainings share is in both parts, so that limits are somewhat too far.
    Satterthwaite's degrees of freedom were measured beside it (benchmarks/repeated_trainings.md).
    """
    if within.estimate is None or within.lower is None or within.upper is None:
        return within
    apart, at = distance(changes, confidence), within.estimate
    return Interval(at, at - hypot(at - within.lower, apart), at + hypot(within.upper - at, apart))


def p_of_none(limits: Limits) -> float:
    """Return the two-sided p that a change is 0: the level at which its limits reach 0."""

    def holds_none(p: float) -> bool:
        interval = limits(1 - p)
        return (interval.lower or 0.0) <= 0 <= (interval.upper or 0.0)

    least, most = np.log(SMALLEST), 0.0
    if not holds_none(SMALLEST):
        return SMALLEST
    for _ in range(40):
        middle = (least + most) / 2
        least, most = (middle, most) if holds_none(float(np.exp(middle))) else (least, middle)
    return float(np.exp(most))


ONE_TRAINING = ", one training"  # ends the scope of a row of one of several trainings
TEST = "limits over items and trainings"
WITH_SEEN = "model, with seen datasets"
IN_WORDS = (
    pl.when(pl.col("n_trainings") == 1)
    .then(pl.lit("1, so what its seed did is not known"))
    .otherwise(pl.col("n_trainings").cast(pl.String))
)
Seen = Mapping[str, Set[str]]  # by model, the datasets that it has seen
PairsOf = Callable[[Cells, Pair], Pairs]
ContrastsOf = Callable[[Cells, Pair], pl.DataFrame]
ROW_KEYS = ["scope", "dataset", "temperature", "perturbation", "judge"]


def together(parts: Sequence[Pairs], first: Pair) -> Pairs:
    """Return the pairs of several trainings and their bases as those of one model."""
    names = dict(zip(("condition", "baseline", "model"), (*first, first[0]), strict=True))
    joined = pl.concat([part.names for part in parts])
    texts = [pl.lit(value).alias(name) for name, value in names.items()]
    return parts[0]._replace(names=joined.with_columns(texts))


def changes_of(parts: Sequence[Pairs]) -> dict[tuple[Any, ...], Floats]:
    """Return the change of a rate by each training, by `row_key`."""
    groups = pl.concat([compare([part]) for part in parts]).partition_by(ROW_KEYS, as_dict=True)
    return {names: group["difference"].to_numpy() for names, group in groups.items()}


def row_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a contrast's values in the columns `ROW_KEYS`."""
    return tuple(row[name] for name in ROW_KEYS)


def limits_over_trainings(confidence: float, turns: Counts, changes: Floats) -> Interval:
    """Return a change of a rate with its limits at a confidence, over items and trainings."""
    interval = widen_by_trainings(change(turns, confidence), changes, confidence)
    if interval.lower is None or interval.upper is None:
        return interval
    return Interval(interval.estimate, max(-1.0, interval.lower), min(1.0, interval.upper))


def compare_trainings(parts: Sequence[Pairs], first: Pair) -> pl.DataFrame:
    """Return the contrasts of a recipe with one base, over its trainings.

    `parts` has the pairs of each training and its base. The recipe's rows have the names
    of the `first` pair. The test is by the interval, since the items' signs cannot be exchanged
    between several models and one.
    """
    changes = changes_of(parts)
    whole, rows = together(parts, first), []
    for scope in ("model and dataset", "model"):
        pooled = {**SCOPES[scope], "model": first[0]}
        for row, group in scoped_contrasts([whole], {scope: pooled}):
            rows.append(row | _compared(group, changes[row_key(row)]))
    return pl.DataFrame(rows, schema=COMPARED_SCHEMA)


def _compared(group: Columns, changes: Floats) -> dict[str, Any]:
    row = compared(group)
    limits = partial(limits_over_trainings, turns=scored_margins(group), changes=changes)
    interval, apart = limits(CONFIDENCE), distance(changes)
    least, most = (row[f"{name}_if_unscored"] for name in ("least", "most"))
    bounds = {
        "lower_if_unscored": max(-1.0, least - hypot(least - row["lower_if_unscored"], apart)),
        "upper_if_unscored": min(1.0, most + hypot(row["upper_if_unscored"] - most, apart)),
    }
    test = {"p": p_of_none(limits), "test": TEST, "n_tested": None, "differing": None}
    return row | bounds | {"lower": interval.lower, "upper": interval.upper} | test


def add_unseen_and_recipes(
    contrasts: pl.DataFrame,
    cells: Cells,
    pairs_of: PairsOf,
    trainings: Trainings,
    seen: Seen,
) -> pl.DataFrame:
    """Return contrasts with added rows over unseen datasets and over all trainings of a recipe.

    A row about one of several trainings of a recipe has a scope of its own.
    """

    def model_contrasts(some: Cells, pair: Pair) -> pl.DataFrame:
        return compare([pairs_of(some, pair)])

    def recipe_contrasts(some: Cells, first: Pair) -> pl.DataFrame:
        return compare_trainings([pairs_of(some, pair) for pair in trainings[first]], first)

    models = [pair for pairs in trainings.values() for pair in pairs]
    recipes = {first: pairs for first, pairs in trainings.items() if len(pairs) > 1}
    names = [name for pairs in recipes.values() for name, _ in pairs]
    is_one = (pl.col("factor") == "model") & pl.col("condition").is_in(names)
    scope = pl.when(is_one).then(pl.col("scope") + ONE_TRAINING).otherwise("scope")
    own = add_unseen(contrasts, cells, model_contrasts, models, seen).with_columns(scope=scope)
    nothing = pl.DataFrame(schema=own.schema)
    over = pl.concat([nothing, *(recipe_contrasts(cells, first) for first in recipes)])
    return pl.concat([own, add_unseen(over, cells, recipe_contrasts, list(recipes), seen)])


def add_unseen(
    contrasts: pl.DataFrame,
    cells: Cells,
    contrasts_of: ContrastsOf,
    baselines: Sequence[Pair],
    seen: Seen,
) -> pl.DataFrame:
    """Return contrasts with those of models over the datasets that they have not seen.

    Such a row takes the place of the row over all datasets, which gets a scope of its own.
    """
    datasets = set(cells.names["dataset"])
    for name, base in baselines:
        if not (seen_here := seen.get(name, set()) & datasets):
            continue
        is_model = (pl.col("factor") == "model") & (pl.col("scope") == "model")
        is_pair = is_model & (pl.col("condition") == name) & (pl.col("baseline") == base)
        scope = pl.when(is_pair).then(pl.lit(WITH_SEEN)).otherwise("scope").alias("scope")
        others = cells.where(~pl.col("dataset").is_in(list(seen_here)))
        held_out = contrasts_of(others, (name, base)).filter(scope="model")
        contrasts = pl.concat(
            [contrasts.with_columns(scope), held_out.with_columns(dataset=pl.lit(HELD_OUT))]
        )
    return contrasts


def n_trainings(trainings: Trainings) -> pl.Expr:
    """Return an expression for the number of trainings behind a row of a post-trained model."""
    numbers = {name: len(pairs) for (name, _), pairs in trainings.items()}
    is_one = pl.col("scope").str.ends_with(ONE_TRAINING)
    of_recipe = pl.col("condition").replace_strict(numbers, default=1, return_dtype=pl.Int64)
    return pl.when(is_one).then(1).otherwise(of_recipe).alias("n_trainings")
