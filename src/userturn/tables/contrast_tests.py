"""Contrasts of conditions on the same items, of families with each other, and sets of tests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from userturn.stats.margins import Counts, combination, detectable_difference
from userturn.stats.proportions import CONFIDENCE, Array
from userturn.stats.significance import benjamini_hochberg, holm, sign_flip_p
from userturn.storage.table_files import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.added_columns import FORMAT, default_format_rows, is_default
from userturn.tables.item_pairs import (
    BASELINE,
    BOUNDS,
    SHARED,
    Cells,
    Columns,
    Pairs,
    columns_of,
    compared,
    flips,
    pool_models,
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


def compare(paired: Iterable[Pairs]) -> pl.DataFrame:
    """Return the contrast of each cell, of each model over datasets, and of each family.

    The result has the columns `COMPARED_SCHEMA`: contrasts without adjustment for multiple tests.
    """
    rows = [names | compared(group) for names, group in scoped_contrasts(paired, SCOPES)]
    return pl.DataFrame(rows, schema=COMPARED_SCHEMA)


def assign_tests(
    contrasts: pl.DataFrame, controls: Sequence[str], confirming: pl.Expr, of: str = ""
) -> pl.DataFrame:
    """Return contrasts with the columns `tests`, the set that each belongs to, and `correction`.

    `confirming` says which rows are confirmatory if they are at the main temperature and
    perturbation, and of the default format. `of` is added to the sets' names, which end in `by` and
    the judge.
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
OF_FAMILIES: Schema = {  # columns that only these contrasts have
    "other_family": pl.String,
    "n_models": pl.Int64,
    "n_models_other": pl.Int64,
    "change": pl.Float64,
    "change_other": pl.Float64,
}


class Items(NamedTuple):
    """A dataset's items over the models of a family, and these models."""

    columns: Columns
    models: frozenset[str]


def compare_families(pairs: Pairs, members: pl.Expr) -> Iterator[dict[str, Any]]:
    """Yield how two families differ in what a condition changes, for all pairs of families.

    There is a row for each condition, judge, value of the other factor, pair of families, and
    dataset or all, where both were scored. `members` says whose families are compared.
    """
    ordered = pairs.where(members).names.sort(*SHARED_BY_PART, "family", "dataset", "model")
    of_cells = ("family", "dataset", "model", "cell", "cell_baseline")
    conditions = ordered.group_by(SHARED_BY_PART, maintain_order=True).agg(of_cells)
    for row in conditions.iter_rows():
        names = dict(zip(SHARED_BY_PART, row, strict=False))
        families = dict[str, dict[str, Items]]()
        for (family, dataset), group in groupby(
            zip(*row[len(SHARED_BY_PART) :], strict=True), key=itemgetter(0, 1)
        ):
            _, datasets, models, *cells = zip(*group, strict=True)
            columns = pool_models(pairs, list(zip(datasets, *cells, strict=True)))
            families.setdefault(family, {})[dataset] = Items(columns, frozenset(models))
        for (family, own), (other, others) in combinations(families.items(), 2):
            for dataset, items in _items_of_both(own, others, pairs.cells.states):
                if (change := _compared(*items)) is not None:
                    yield {**names, "dataset": dataset, "family": family, "other_family": other,
                           **change}  # fmt: skip


def _items_of_both(
    own: Mapping[str, Items], others: Mapping[str, Items], states: Array
) -> Iterator[tuple[str, tuple[Items, Items]]]:
    """Yield the same items of two families by dataset, and over all datasets."""
    both = {}
    for dataset in sorted({*own, *others}):
        some = own.get(dataset) or others[dataset]
        no_turn = np.zeros(len(some.columns["n"]), dtype=int)  # the number of that state
        absent = Items(columns_of(states, no_turn, no_turn), frozenset())
        both[dataset] = (own.get(dataset, absent), others.get(dataset, absent))
    yield from both.items()
    first, second = (_joined(parts) for parts in zip(*both.values(), strict=True))
    yield ALL, (first, second)


def _joined(parts: Sequence[Items]) -> Items:
    """Return the items of several datasets."""
    names = parts[0].columns
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in names}
    return Items(columns, frozenset[str]().union(*(part.models for part in parts)))


def _compared(own: Items, others: Items) -> dict[str, Any] | None:
    """Return the difference of two families' changes, with limits and the exact test.

    The test is over the items scored in all four cells. It flips the sign of each item's difference
    of changes (Fisher 1935, The Design of Experiments, section 21), so an item's turns stay
    together. Without such an item there is no difference.
    """
    both = (own.columns, others.columns)
    is_shared = ~np.isnan(both[0]["change"] + both[1]["change"])
    if not is_shared.any():
        return None
    ends = [(of, suffix) for of in both for suffix in (BASELINE, "")]
    turns, positive = (
        np.stack([of[name + suffix] for of, suffix in ends], axis=1)
        for name in ("n_scored", "n_genuine")
    )
    interaction = combination(
        Counts(np.ones(len(turns)), turns, positive), np.array([-1.0, 1.0, 1.0, -1.0])
    )
    rates = positive.sum(axis=0) / turns.sum(axis=0)
    unequal = any(of["is_unequal"][is_shared].any() for of in both)
    tested = "first_change" if unequal else "change"
    apart = np.round((both[0][tested] - both[1][tested])[is_shared], 9)
    values, n_items = np.unique(apart[~np.isnan(apart)], return_counts=True)
    name = flips(values, n_items.astype(float))
    return {
        "n_items": int(is_shared.sum()),
        "n_models": len(own.models),
        "n_models_other": len(others.models),
        "change": rates[1] - rates[0],
        "change_other": rates[3] - rates[2],
        "difference": interaction.estimate,
        "lower": interaction.lower,
        "upper": interaction.upper,
        "p": sign_flip_p(values, n_items.astype(float)),
        "test": f"{name} of first samples" if unequal else name,
    }


def compared_members(families: pl.DataFrame) -> pl.Expr:
    """Return which models' families are compared: no post-trained ones, and no other formats."""
    members = default_format_rows(families).filter(pl.col("base").is_null())
    return pl.col("model").is_in(members["model"].to_list())


def interactions(
    cells: Cells, rows: Sequence[dict[str, Any]], members: pl.Expr, controls: Sequence[str]
) -> pl.DataFrame:
    """Return how the changes of each pair of families differ, by perturbation and by temperature.

    `rows` are those of `compare_families`. The sets of tests are like those of other contrasts.
    Over all datasets, perturbations at the lowest temperature and temperatures without a
    perturbation are confirmatory (Holm). All others are exploratory. Without `rows` there is one
    that gives the reason.
    """
    shared = {"measure": FOLLOW_UP, "scope": BETWEEN_FAMILIES}
    if rows:
        joined = pl.DataFrame(rows, infer_schema_length=None)
        return _adjusted(joined.with_columns(**{k: pl.lit(v) for k, v in shared.items()}), controls)
    names_of_families = ", ".join(sorted(cells.where(members).names["family"].unique()))
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
