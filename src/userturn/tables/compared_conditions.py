"""Contrasts of conditions on the same items, of families with each other, and sets of tests."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.stats.margins import Counts, change, combination, detectable_difference
from userturn.stats.proportions import CONFIDENCE, Array
from userturn.stats.significance import benjamini_hochberg, holm, sign_flip_p
from userturn.storage.table_files import ITEM_KEYS, Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.added_columns import FORMAT, default_format_rows, is_default
from userturn.tables.item_pairs import (
    BASELINE,
    BOTH,
    BOUNDS,
    OTHER_FACTOR,
    SHARED,
    UNEQUAL,
    Parts,
    compared,
    flips,
    scoped_contrasts,
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
    rows = [names | compared(group) for names, group in scoped_contrasts(paired, SCOPES)]
    return pl.DataFrame(rows, schema=COMPARED_SCHEMA)


def assign_tests(
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
    sets = assign_tests(contrasts, controls, pl.col("scope") == "model")
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
SHARED_BY_PART = ["factor", "condition", "baseline", "temperature", "perturbation", "judge"]
CONTRAST_KEYS = [*SHARED_BY_PART[:3], "dataset", *SHARED_BY_PART[3:]]
OTHER = "_other"
OF_FAMILIES: Schema = {  # columns that only these contrasts have
    "other_family": pl.String,
    "n_models": pl.Int64,
    "n_models_other": pl.Int64,
    "change": pl.Float64,
    "change_other": pl.Float64,
}


def family_items(paired: pl.DataFrame) -> pl.DataFrame:
    """Return items of each family under each condition and its baseline, over all its models.

    The columns are `condition`, `family`, `dataset` and `item`; the turns under both conditions;
    the mean changes over models, null if no model was scored under both; `models`; and `unequal`,
    whether one condition has more turns than the other.
    """
    # Changes are rounded, so that the order of sums does not show.
    return paired.group_by("condition", "family", *ITEM_KEYS).agg(
        pl.col(BOTH).sum(),
        pl.col("change", "first_change").mean().round(9),
        models=pl.col("model").unique(),
        unequal=(pl.col("design") == UNEQUAL).any(),
    )


ENDS = [condition + family for family in ("", OTHER) for condition in (BASELINE, "")]
CHANGES = [name + family for name in ("change", "first_change") for family in ("", OTHER)]


class Beside(NamedTuple):
    """Items of two families, and the numbers of models that have some."""

    numbers: Mapping[str, Array]  # by column, nan for null
    turns: Array  # items x baseline and condition of the first family, and of the other
    positive: Array
    n_models: Mapping[str, int]


def _datasets(both: pl.DataFrame) -> Iterator[tuple[str, Beside]]:
    """Yield the items of two families by dataset, and of all datasets."""
    unequal = pl.col("unequal", "unequal" + OTHER).cast(pl.Float64)
    table = both.select(pl.col(CHANGES), unequal)
    numbers = {column.name: column.to_numpy() for column in table}
    turns, positive = (
        both.select(pl.col(f"{name}{s}").fill_null(0).cast(pl.Float64) for s in ENDS).to_numpy()
        for name in ("n_scored", "n_genuine")
    )
    models = {  # null where a family lacks the item
        name: pl.col(name).explode().drop_nulls().n_unique()
        for name in ("models", "models" + OTHER)
    }
    of_each = both.group_by("dataset", maintain_order=True).agg(n_items=pl.len(), **models)
    of_all = both.select(pl.lit(ALL).alias("dataset"), n_items=pl.len(), **models)
    start = 0
    for row in pl.concat([of_each, of_all]).iter_rows(named=True):
        dataset, n_items = row.pop("dataset"), row.pop("n_items")
        part = slice(None) if dataset == ALL else slice(start, start + n_items)
        start += n_items
        n_models = {f"n_{name}": n for name, n in row.items()}
        of_part = {name: column[part] for name, column in numbers.items()}
        yield dataset, Beside(of_part, turns[part], positive[part], n_models)


def _compared(items: Beside) -> dict[str, Any] | None:
    """Return the difference of two families' changes, with limits and the exact test.

    The test is over the items scored in all four cells. It flips the sign of each item's difference
    of changes (Fisher 1935, The Design of Experiments, section 21), so an item's turns stay
    together. Without such an item there is no difference.
    """
    numbers, turns, positive = items[:3]
    is_shared = ~np.isnan(numbers["change"]) & ~np.isnan(numbers["change" + OTHER])
    if not is_shared.any():
        return None
    n = np.ones(len(turns))
    interaction = combination(Counts(n, turns, positive), np.array([-1.0, 1.0, 1.0, -1.0]))
    changes = [change(Counts(n, turns[:, of], positive[:, of])).estimate for of in ([0, 1], [2, 3])]
    unequal = any((numbers[name][is_shared] == 1).any() for name in ("unequal", "unequal" + OTHER))
    tested = "first_change" if unequal else "change"
    apart = np.round((numbers[tested] - numbers[tested + OTHER])[is_shared], 9)
    values, n_items = np.unique(apart[~np.isnan(apart)], return_counts=True)
    name = flips(values, n_items.astype(float))
    return {
        "n_items": int(is_shared.sum()),
        **items.n_models,
        "change": changes[0],
        "change_other": changes[1],
        "difference": interaction.estimate,
        "lower": interaction.lower,
        "upper": interaction.upper,
        "p": sign_flip_p(values, n_items.astype(float)),
        "test": f"{name} of first samples" if unequal else name,
    }


def compare_families(parts: Parts, members: pl.Expr, rows: list[dict[str, Any]]) -> Parts:
    """Yield pairs of items under a factor's conditions, and add to `rows` how families differ.

    `parts` are those of `item_pairs.pairs_under`, and `members` says whose families are compared.
    There is a row for each condition, judge, value of the other factor, pair of families, and
    dataset or all, where both were scored.
    """
    for _, alike in groupby(parts, _judge_and_factor):
        sums, names = dict[str, list[pl.DataFrame]](), dict[str, dict[str, Any]]()
        for part in alike:
            paired = part.filter(members)
            for (condition,), items in (
                family_items(paired)
                .partition_by("condition", as_dict=True, include_key=False)
                .items()
            ):
                sums.setdefault(condition, []).append(items)
            texts = pl.col(SHARED_BY_PART).exclude("temperature").cast(pl.String)
            one_each = paired.group_by("condition").first().select(SHARED_BY_PART)
            for row in one_each.with_columns(texts).iter_rows(named=True):
                names[row["condition"]] = row
            yield part
        for condition, parts_of_condition in sums.items():
            of_pairs = _between_families(pl.concat(parts_of_condition))
            rows.extend(names[condition] | row for row in of_pairs)


def _judge_and_factor(paired: pl.DataFrame) -> tuple[Any, ...]:
    """Return the judge of a part, and its value of the factor that conditions share."""
    return paired.select("judge", OTHER_FACTOR[paired["factor"][0]]).row(0)


def _between_families(items: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row for each pair of families, over each dataset and all, where both were scored."""
    texts = items.with_columns(pl.col("family", *ITEM_KEYS).cast(pl.String))
    families = texts.partition_by("family", as_dict=True)
    for (family,), (other,) in combinations(sorted(families), 2):
        both = families[family,].join(
            families[other,], on=ITEM_KEYS, how="full", coalesce=True, suffix=OTHER
        )
        for dataset, items_of_both in _datasets(both.sort(ITEM_KEYS)):
            if (row := _compared(items_of_both)) is not None:
                yield {"dataset": dataset, "family": family, "other_family": other} | row


def compared_members(families: pl.DataFrame) -> pl.Expr:
    """Return which models' families are compared: no post-trained ones, and no other formats."""
    members = default_format_rows(families).filter(pl.col("base").is_null())
    return pl.col("model").cast(pl.String).is_in(members["model"].to_list())


def interactions(
    items: pl.DataFrame, rows: Sequence[dict[str, Any]], members: pl.Expr, controls: Sequence[str]
) -> pl.DataFrame:
    """Return how the changes of each pair of families differ, by perturbation and by temperature.

    `rows` are those of `compare_families`. The sets of tests are like those of other contrasts.
    Over all datasets, perturbations at the lowest temperature and temperatures without a
    perturbation are confirmatory (Holm). All others are exploratory.
    """
    shared = {"measure": FOLLOW_UP, "scope": BETWEEN_FAMILIES}
    if rows:
        joined = pl.DataFrame(rows, infer_schema_length=None)
        return _adjusted(joined.with_columns(**{k: pl.lit(v) for k, v in shared.items()}), controls)
    families_seen = items.filter(members)["family"].cast(pl.String).unique()
    names_of_families = ", ".join(sorted(families_seen))
    reason = (
        f"no two families under two conditions on the same items; families: {names_of_families}"
    )
    return pl.DataFrame([shared | {"dataset": ALL, "reason": reason}])


def _adjusted(table: pl.DataFrame, controls: Sequence[str]) -> pl.DataFrame:
    parts = []
    sets = assign_tests(table, controls, pl.col("dataset") == ALL, " between families")
    for part in sets.partition_by("tests", maintain_order=True):
        adjust = holm if part["correction"][0] == "Holm" else benjamini_hochberg
        parts.append(part.with_columns(p_adjusted=adjust(part["p"].to_numpy())))
    return pl.concat(parts).sort("factor", "family", "other_family", *CONTRAST_KEYS)
