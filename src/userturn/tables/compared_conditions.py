"""Contrasts of conditions on the same items, of families with each other, and sets of tests."""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import Any

import numpy as np
import polars as pl

from userturn.stats.margins import Counts, change, combination, detectable_difference
from userturn.stats.proportions import CONFIDENCE
from userturn.stats.significance import benjamini_hochberg, holm, sign_flip_p
from userturn.storage.table_files import JUDGED_ITEM_KEYS, Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.added_columns import FORMAT, in_default_format, is_default
from userturn.tables.item_pairs import (
    BASELINE,
    BOTH,
    BOUNDS,
    SHARED,
    UNEQUAL,
    Parts,
    compared,
    flips,
    in_scopes,
    pairs,
    parts_by,
)
from userturn.tables.turn_rates import VERIFIER

FOLLOW_UP, ACCURACY = "follow-up", "accuracy"
COMPARED_SCHEMA: Schema = {
    **dict.fromkeys(SHARED, pl.String),
    "temperature": pl.Float64,
    "n_scored_baseline": pl.Int64,
    "n_scored": pl.Int64,
    **dict.fromkeys(("rate_baseline", "rate_condition", "difference", "lower"), pl.Float64),
    "upper": pl.Float64,
    **BOUNDS,
    **dict.fromkeys(("n_items", "n_rise", "n_fall"), pl.Int64),
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


def compare(paired: Parts) -> pl.DataFrame:
    """Return the contrast of each cell, of each model over datasets, and of each family.

    Each of `paired` has items under two conditions (`item_pairs.paired_items`). The result has the
    columns `COMPARED_SCHEMA`: contrasts without adjustment for multiple tests.
    """
    rows = [place | compared(group) for place, group in in_scopes(paired, SCOPES)]
    return pl.DataFrame(rows, schema=COMPARED_SCHEMA)


def in_sets(
    contrasts: pl.DataFrame, controls: Sequence[str], confirming: pl.Expr, of: str = ""
) -> pl.DataFrame:
    """Return contrasts with the set of tests that each belongs to, and the set's correction.

    `confirming` says which rows are confirmatory if they are at the main temperature and
    perturbation. `of` ends the name of the sets, where they do not compare conditions.
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
    against the default one. Holm's method controls the family-wise error of each such set, one per
    factor, judge and kind. All other contrasts, such as those within another format, are
    exploratory, and have Benjamini and Hochberg's false discovery rate instead.

    The detectable difference is the one at `detectable_level`. For confirmatory tests that is 0.05
    over the number of tests in the set, Holm's first and strictest step. For exploratory tests it
    is 0.05.
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


BETWEEN_FAMILIES = "two families"
PLACE = ["factor", "condition", "baseline", "dataset", "temperature", "perturbation", "judge"]
ITEM = ["source", "item"]
OTHER = "_other"
OF_FAMILIES: Schema = {  # columns that only these contrasts have
    "other_family": pl.String,
    "n_models": pl.Int64,
    "n_models_other": pl.Int64,
    "change": pl.Float64,
    "change_other": pl.Float64,
}


def of_families(paired: pl.DataFrame) -> pl.DataFrame:
    """Return items of each family under two conditions, over all its models.

    The columns are `PLACE`, `family`, `source` (the dataset) and `item`; the turns under both
    conditions; the mean changes over models, null if no model was scored under both; `models`; and
    `unequal`, whether one condition has more turns than the other.
    """
    keys = [pl.col(name).cast(pl.String) for name in PLACE if name != "temperature"]
    named = paired.with_columns(*keys, pl.col("family", "item").cast(pl.String))
    named = named.with_columns(source="dataset")
    # Changes are rounded, so that the order of sums does not show.
    return named.group_by(*PLACE, "family", *ITEM).agg(
        pl.col(BOTH).sum(),
        pl.col("change", "first_change").mean().round(9),
        models=pl.col("model").unique(),
        unequal=(pl.col("design") == UNEQUAL).any(),
    )


def _counts(group: pl.DataFrame) -> Counts:
    """Return the turns of each item under the baseline and the condition, of either family."""
    suffixes = [condition + family for family in ("", OTHER) for condition in (BASELINE, "")]
    turns, positive = (
        group.select(pl.col(f"{name}{s}").fill_null(0).cast(pl.Float64) for s in suffixes)
        for name in ("n_scored", "n_genuine")
    )
    return Counts(np.ones(group.height), turns.to_numpy(), positive.to_numpy())


def _compared(group: pl.DataFrame) -> dict[str, Any]:
    """Return the difference of two families' changes, with limits and the exact test.

    The test is over the items scored in all four cells. It flips the sign of each item's difference
    of changes (Fisher 1935, The Design of Experiments, section 21), so an item's turns stay
    together.
    """
    counts = _counts(group)
    interaction = combination(counts, np.array([-1.0, 1.0, 1.0, -1.0]))
    changes = [
        change(counts._replace(turns=counts.turns[:, of], positive=counts.positive[:, of])).estimate
        for of in ([0, 1], [2, 3])
    ]
    both = group.drop_nulls(["change", "change" + OTHER])
    unequal = bool((both["unequal"] | both["unequal" + OTHER]).any())
    tested = "first_change" if unequal else "change"
    seen = both.drop_nulls([tested, tested + OTHER])
    apart = np.round((seen[tested] - seen[tested + OTHER]).to_numpy(), 9)
    values, n = np.unique(apart, return_counts=True)
    name = flips(values, n.astype(float))
    models = {f"n_models{s}": group[f"models{s}"].explode().n_unique() for s in ("", OTHER)}
    return {
        "n_items": both.height,
        **models,
        "change": changes[0],
        "change_other": changes[1],
        "difference": interaction.estimate,
        "lower": interaction.lower,
        "upper": interaction.upper,
        "p": sign_flip_p(values, n.astype(float)),
        "test": f"{name} of first samples" if unequal else name,
    }


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Return a row for each pair of families and each place where both were scored."""
    families = table.partition_by("family", as_dict=True)
    rows = []
    for (family,), (other,) in combinations(sorted(families), 2):
        both = families[family,].join(
            families[other,], on=[*PLACE, *ITEM], how="full", coalesce=True, suffix=OTHER
        )
        groups = both.sort(*PLACE, *ITEM).partition_by(PLACE, as_dict=True, maintain_order=True)
        for names, group in groups.items():
            if group.drop_nulls(["change", "change" + OTHER]).height:
                names_of_row = dict(zip(PLACE, names, strict=True))
                rows.append(
                    {**names_of_row, "family": family, "other_family": other, **_compared(group)}
                )
    return rows


def _places(
    items: pl.DataFrame, factor: str, baseline: Any, place: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Yield the pairs of items under each condition, one place and condition at a time."""
    is_before = pl.col(factor) == baseline
    for after in parts_by(items.filter(~is_before), [*place, factor]):
        before = items.filter(is_before).join(after.head(1), on=list(place), how="semi")
        keys = [key for key in JUDGED_ITEM_KEYS if key != factor]
        yield pairs(pl.concat([after, before]), factor, baseline, keys)


def interactions(
    items: pl.DataFrame, families: pl.DataFrame, controls: Sequence[str]
) -> pl.DataFrame:
    """Return how the changes of each pair of families differ, by perturbation and by temperature.

    The sets of tests are like those of other contrasts. Over all datasets, perturbations at the
    lowest temperature and temperatures without a perturbation are confirmatory (Holm). All others
    are exploratory. Post-trained models and other formats are left out.
    """
    members = in_default_format(families).filter(pl.col("base").is_null())
    seen = items.filter(pl.col("model").cast(pl.String).is_in(members["model"].to_list()))
    coolest = seen["temperature"].min()
    places = chain(
        _places(seen, "perturbation", PLAIN, ["temperature", "judge"]),
        _places(seen, "temperature", coolest, ["perturbation", "judge"]),
    )
    rows = [
        row
        for part in map(of_families, places)
        for table in (part, part.with_columns(dataset=pl.lit(ALL)))
        for row in _rows(table)
    ]
    shared = {"measure": FOLLOW_UP, "scope": BETWEEN_FAMILIES}
    if rows:
        joined = pl.DataFrame(rows, infer_schema_length=None)
        return _adjusted(joined.with_columns(**{k: pl.lit(v) for k, v in shared.items()}), controls)
    names_of_families = ", ".join(sorted(seen["family"].cast(pl.String).unique()))
    reason = (
        f"no two families under two conditions on the same items; families: {names_of_families}"
    )
    return pl.DataFrame([shared | {"dataset": ALL, "reason": reason}])


def _adjusted(table: pl.DataFrame, controls: Sequence[str]) -> pl.DataFrame:
    parts = []
    sets = in_sets(table, controls, pl.col("dataset") == ALL, " between families")
    for part in sets.partition_by("tests", maintain_order=True):
        adjust = holm if part["correction"][0] == "Holm" else benjamini_hochberg
        parts.append(part.with_columns(p_adjusted=adjust(part["p"].to_numpy())))
    return pl.concat(parts).sort("factor", "family", "other_family", *PLACE)
