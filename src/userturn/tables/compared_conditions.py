"""Contrasts of conditions on the same items, and their sets of tests."""

from collections.abc import Sequence

import polars as pl

from userturn.stats.multiple_tests import benjamini_hochberg, holm
from userturn.stats.paired import detectable_difference
from userturn.stats.proportions import CONFIDENCE
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.format_columns import FORMAT, is_default
from userturn.tables.item_counts import VERIFIER
from userturn.tables.item_pairs import BOUNDS, SHARED, compared, scoped

FOLLOW_UP, ACCURACY = "follow-up", "accuracy"
COMPARED_SCHEMA: Schema = {
    **dict.fromkeys(SHARED, pl.String),
    "temperature": pl.Float64,
    "n_scored_baseline": pl.Int64,
    "n_scored": pl.Int64,
    "rate_baseline": pl.Float64,
    "rate_condition": pl.Float64,
    "difference": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    **BOUNDS,
    "n_items": pl.Int64,
    "n_rise": pl.Int64,
    "n_fall": pl.Int64,
    "p": pl.Float64,
    "test": pl.String,
    "n_tested": pl.Float64,
    "differing": pl.Float64,
}
ADJUSTED_SCHEMA: Schema = {
    "measure": pl.String,
    **dict(list(COMPARED_SCHEMA.items())[:-2]),
    "p_adjusted": pl.Float64,
    "tests": pl.String,
    "correction": pl.String,
    "detectable_difference": pl.Float64,
    "detectable_level": pl.Float64,
    "reason": pl.String,
}
SCOPES: dict[str, dict[str, str]] = {  # by name, the columns that each scope pools
    "model and dataset": {},
    "model": {"dataset": ALL},
    "family": {"dataset": ALL, "model": ALL},
}


def compare(*paired: pl.DataFrame) -> pl.DataFrame:
    """Return the contrast of each cell, of each model over datasets, and of each family.

    Args:
        paired: pairs of items, as `item_pairs.beside` returns them.

    Returns:
        The columns of `COMPARED_SCHEMA`: a contrast without its adjustment for multiple tests.
    """
    rows = []
    for part in paired:
        for scope, pooled in SCOPES.items() if part.height else ():
            counts = scoped(part, scope, pooled)
            groups = counts.partition_by(SHARED, as_dict=True, maintain_order=True)
            for names, group in groups.items():
                rows.append(dict(zip(SHARED, names, strict=True)) | compared(group))
    return pl.DataFrame(rows, schema=COMPARED_SCHEMA)


def in_sets(
    contrasts: pl.DataFrame, controls: Sequence[str], confirming: pl.Expr, of: str = ""
) -> pl.DataFrame:
    """Return contrasts with the set of tests that each belongs to, and how it is adjusted.

    Args:
        contrasts: columns factor, temperature, perturbation and judge, among others.
        controls: names of the perturbations that are controls.
        confirming: which rows are confirmatory, given the main temperature and perturbation.
        of: what the sets are of, if not of conditions.
    """
    # Accuracies have no temperature.
    coolest = pl.col("temperature").eq_missing(pl.col("temperature").min())
    plain = pl.col("perturbation") == PLAIN
    main = (
        pl.when(pl.col("factor") == "perturbation")
        .then(coolest)
        .when(pl.col("factor") == "temperature")
        .then(plain)
        .otherwise(plain & coolest)
    )
    is_control = pl.col("perturbation").is_in(list(controls))
    is_usual = (pl.col("factor") == FORMAT) | is_default("family")
    confirmatory = main & confirming & is_usual
    kind = pl.when(confirmatory).then(pl.lit("confirmatory")).otherwise(pl.lit("exploratory"))
    what = pl.when(is_control).then(pl.lit("control")).otherwise("factor")
    where = pl.when(is_usual).then(pl.lit("")).otherwise(pl.lit(" in another format"))
    return contrasts.with_columns(
        correction=pl.when(confirmatory)
        .then(pl.lit("Holm"))
        .otherwise(pl.lit("Benjamini-Hochberg")),
        tests=pl.format("{} {}{}{} by {}", kind, what, where, pl.lit(of), "judge"),
    )


def adjusted(contrasts: pl.DataFrame, controls: Sequence[str]) -> pl.DataFrame:
    """Return contrasts with the p-values of each set of tests adjusted.

    Confirmatory are the contrasts of models over all datasets: perturbations at the lowest
    temperature, temperatures without a perturbation, models against their bases, and formats
    against the default one. Holm's step-down controls the family-wise error of each such set, one
    per factor, judge and kind. All other contrasts, as those within another format, are exploratory
    and have Benjamini and Hochberg's false discovery rate instead.

    The detectable difference is the one at `detectable_level`: for confirmatory tests 0.05 over the
    number of tests in the set, Holm's first and strictest step; for exploratory tests 0.05.
    """
    parts = [pl.DataFrame(schema=ADJUSTED_SCHEMA)]
    is_graded = pl.col("judge") == VERIFIER
    measure = pl.when(is_graded).then(pl.lit(ACCURACY)).otherwise(pl.lit(FOLLOW_UP))
    sets = in_sets(contrasts, controls, pl.col("scope") == "model")
    for part in sets.partition_by("tests", maintain_order=True):
        confirms = part["correction"][0] == "Holm"
        p = part["p"].to_numpy()
        level = (1 - CONFIDENCE) / (part.height if confirms else 1)
        detectable = detectable_difference(part["n_tested"], part["differing"], level)
        parts.append(
            part.with_columns(
                measure=measure,
                p_adjusted=(holm if confirms else benjamini_hochberg)(p),
                detectable_difference=pl.Series(detectable).fill_nan(None),
                detectable_level=pl.lit(level),
                reason=pl.lit(None, pl.String),
            ).select(list(ADJUSTED_SCHEMA))
        )
    return pl.concat(parts).sort("measure", *SHARED)
