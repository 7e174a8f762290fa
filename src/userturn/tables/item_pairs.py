"""Pair items under two conditions: their turns under both, for one difference and its test.

The difference is that of the two conditions' rates over all scored turns. The test is over
the items that were scored under both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from userturn.config.formats import DEFAULT, format_of, models_in_other_formats
from userturn.stats.margins import Counts, change
from userturn.stats.proportions import Array
from userturn.stats.significance import is_exact, sign_flip_p
from userturn.storage.table_files import JUDGED_ITEM_KEYS, Schema
from userturn.study.cells import PLAIN
from userturn.tables.added_columns import FORMAT

SHARED = [
    "factor", "condition", "baseline", "scope", "family", "model", "dataset",
    "temperature", "perturbation", "judge",
]  # fmt: skip
# The number of turns that an item has under the two conditions.
ONE, EQUAL, UNEQUAL = "one each", "as many each", "not as many each"
COUNTS = ["n_turns", "n_scored", "n_genuine"]
SEEN = [*COUNTS, "first"]
BASELINE = "_baseline"
BOTH = [name + suffix for suffix in ("", BASELINE) for name in COUNTS]
CHANGE = ["change", "first_change", "design"]  # null unless the item was scored under both
PATTERN = [*BOTH, *CHANGE]
BOUNDS: Schema = {
    **dict.fromkeys(("least_if_unscored", "most_if_unscored", "lower_if_unscored"), pl.Float64),
    "upper_if_unscored": pl.Float64,
}


def pairs(items: pl.DataFrame, factor: str, baseline: Any, blocks: Sequence[str]) -> pl.DataFrame:
    """Return items under a condition beside the same items under the baseline, one row per pair.

    The conditions differ in the column `factor` and have `blocks` in common, which include `item`.
    """
    after = items.filter(pl.col(factor) != baseline)
    before = items.filter(pl.col(factor) == baseline)
    return match_items(after, before, blocks).with_columns(
        factor=pl.lit(factor),
        condition=pl.col(factor).cast(pl.String),
        baseline=pl.lit(str(baseline)),
    )


def match_items(after: pl.DataFrame, before: pl.DataFrame, blocks: Sequence[str]) -> pl.DataFrame:
    """Return items beside the same items before, with columns `..._baseline`, in cells of both.

    Items that only one of the two cells has are kept, with no turn in the other. `change` is the
    difference of the item's shares of genuine turns, `first_change` that of its first samples. Both
    are null unless the item was scored twice. `design` says whether an item has one turn in each
    condition, equally many in both, or neither.
    """
    keys = [name for name in blocks if name != "item"]
    counted = [*SEEN, "first_item", *(name for name in after.columns if name.startswith("label:"))]
    own = [name for name in after.columns if name not in (*blocks, *counted)]
    base = before.select(*blocks, *SEEN)
    names = after.select(*keys, *own).unique()
    cells = names.join(base.select(keys).unique(), on=keys).with_row_index("cell")
    here = after.select(*keys, *own, "item", *SEEN)
    sides = [
        here.join(cells, on=[*keys, *own], nulls_equal=True),
        base.join(cells.select(*keys, "cell"), on=keys),
    ]
    here, there = (side.select("cell", "item", *SEEN) for side in sides)
    on = ["cell", "item"]
    both = here.join(there, on=on, how="full", coalesce=True, suffix=BASELINE)
    both = both.join(cells, on="cell").drop("cell")
    counts = both.with_columns(pl.col(BOTH).fill_null(0))
    return counts.with_columns(*_changes(), _design())


def _scored_twice() -> pl.Expr:
    return (pl.col("n_scored") > 0) & (pl.col("n_scored" + BASELINE) > 0)


def _changes() -> list[pl.Expr]:
    after, before = (pl.col(f"n_genuine{s}") / pl.col(f"n_scored{s}") for s in ("", BASELINE))
    first = pl.col("first").cast(pl.Float64) - pl.col("first" + BASELINE).cast(pl.Float64)
    return [
        pl.when(_scored_twice()).then(change).alias(name)
        for name, change in (("change", after - before), ("first_change", first))
    ]


def _design() -> pl.Expr:
    n, n_before = pl.col("n_turns"), pl.col("n_turns" + BASELINE)
    one = pl.when((n == 1) & (n_before == 1)).then(pl.lit(ONE))
    design = one.when(n == n_before).then(pl.lit(EQUAL)).otherwise(pl.lit(UNEQUAL))
    return pl.when(_scored_twice()).then(design).alias("design")


OTHER_FACTOR = {"perturbation": "temperature", "temperature": "perturbation"}
Parts = Iterable[pl.DataFrame]
"""Pairs in parts, so that not all are in memory at once; those of an item are in one part."""


def paired_items(
    items: pl.DataFrame, coolest: Any, baselines: Sequence[tuple[str, str]]
) -> list[Parts]:
    """Return the pairs of items under each condition and its baseline, made as they are read.

    There are parts for perturbations, for temperatures, and for each model beside a base and
    beside itself in the default format.
    """
    models = [pairs_with_base(items, *pair) for pair in baselines]
    names = items["model"].unique().cast(pl.String).to_list()
    formats = [_format_pairs(items, *pair) for pair in models_in_other_formats(names)]
    perturbed = pairs_under(items, "perturbation", PLAIN)
    warmer = pairs_under(items, "temperature", coolest)
    return [perturbed, warmer, *([one] for one in models), *([one] for one in formats)]


def pairs_under(items: pl.DataFrame, factor: str, baseline: Any) -> Parts:
    """Yield the pairs of items under each condition of a factor, perturbation or temperature.

    There is a part for each value of the other factor and each judge, family and dataset, in this
    order.
    """
    keys = [key for key in JUDGED_ITEM_KEYS if key != factor]
    for some in parts_by(items, [OTHER_FACTOR[factor], "judge", "family", "dataset"]):
        if not (paired := pairs(some, factor, baseline, keys)).is_empty():
            yield paired


def parts_by(table: pl.DataFrame, keys: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield the rows of each combination of some columns' values, in the order of the values.

    Column by column, so that no more than a part of the table is copied at a time.
    """
    if not keys:
        yield table
        return
    first, *others = keys
    values = table[first].unique().sort()
    for value in values:
        is_value = pl.col(first).eq_missing(pl.lit(value))
        yield from parts_by(table.filter(is_value) if len(values) > 1 else table, others)


def pairs_with_base(items: pl.DataFrame, name: str, base: str) -> pl.DataFrame:
    """Return the pairs of items of a model and of its base."""
    both = items.filter(pl.col("model").cast(pl.String).is_in([name, base]))
    return pairs(both, "model", base, [key for key in JUDGED_ITEM_KEYS if key != "model"])


def _format_pairs(items: pl.DataFrame, name: str, model: str) -> pl.DataFrame:
    """Return the pairs of items of a model in another format and in the default one."""
    condition, base = (items.filter(model=one) for one in (name, model))
    keys = [key for key in JUDGED_ITEM_KEYS if key != "model"]
    return match_items(condition, base, keys).with_columns(
        factor=pl.lit(FORMAT), condition=pl.lit(format_of(name)), baseline=pl.lit(DEFAULT)
    )


def counted(paired: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the number of pairs with the same turns and changes in each group."""
    rounded = paired.with_columns(pl.col("change").round(12))
    return rounded.group_by(*keys, *PATTERN).agg(n=pl.len())


Columns = Mapping[str, Array]
"""The pairs of a contrast with equal turns and changes, and their number `n`; nan for null.

`is_unequal` is 1 where an item that was scored twice has not as many turns under both conditions.
"""


def _columns(pairs: pl.DataFrame) -> Columns:
    """Return counted pairs as arrays."""
    is_unequal = ((pl.col("design") == UNEQUAL) & pl.col("change").is_not_null()).fill_null(False)
    numbers = pairs.select(*BOTH, "change", "first_change", "n", is_unequal=is_unequal)
    return {column.name: column.cast(pl.Float64).to_numpy() for column in numbers}


def groups(counts: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[dict[str, Any], Columns]]:
    """Yield the keys and the pairs of each group in which an item was scored twice, sorted."""
    ordered = counts.sort(*keys, *PATTERN)
    scored = ordered.filter(pl.col("change").count().over(keys) > 0)
    columns, start = _columns(scored), 0
    for names in scored.group_by(keys, maintain_order=True).agg(n_rows=pl.len()).iter_rows():
        end = start + names[-1]
        pairs_of_group = {name: column[start:end] for name, column in columns.items()}
        yield dict(zip(keys, names[:-1], strict=True)), pairs_of_group
        start = end


def _margins(group: Columns, genuine: Sequence[Array], turns: str) -> Counts:
    """Return a group's turns under baseline and condition: all turns, and the genuine ones."""
    both = [group[turns + suffix] for suffix in (BASELINE, "")]
    return Counts(group["n"], *(np.asfortranarray(np.stack(c, axis=1)) for c in (both, genuine)))


def scored_margins(group: Columns) -> Counts:
    """Return the scored turns under the baseline and under the condition."""
    return _margins(group, [group["n_genuine" + BASELINE], group["n_genuine"]], "n_scored")


def scoped_contrasts(
    parts: Parts, scopes: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[dict[str, Any], Columns]]:
    """Yield each contrast of some scopes with its counted pairs, where pooled columns are `all`.

    An item that several models of a family share counts once, with the turns of all, and with its
    mean change over them. Contrasts without an item that was scored under both are left out.
    """
    counts: dict[str, list[pl.DataFrame]] = {scope: [] for scope in scopes}
    for part in parts:
        for scope, pooled in scopes.items():
            counts[scope].append(_scoped(part, scope, pooled))
    for parts_of_scope in filter(None, counts.values()):
        summed = pl.concat(parts_of_scope).group_by(*SHARED, *PATTERN).agg(pl.col("n").sum())
        yield from groups(summed, SHARED)


def _scoped(paired: pl.DataFrame, scope: str, pooled: Mapping[str, str]) -> pl.DataFrame:
    """Return the number of pairs with equal turns and changes in each contrast of a scope."""
    keys = [name for name in SHARED if name != "scope" and name not in pooled]
    table = paired
    if "model" in pooled:
        several = pl.when(pl.col("design").count() == 1).then(pl.lit(ONE)).otherwise(pl.lit(EQUAL))
        # Turns are integers and changes are rounded, so that the order of sums does not show.
        table = table.group_by(*{**dict.fromkeys(keys), "dataset": None, "item": None}).agg(
            pl.col(BOTH).sum(),
            pl.col("change", "first_change").mean().round(9),
            design=pl.when((pl.col("design") == UNEQUAL).any())
            .then(pl.lit(UNEQUAL))
            .when((pl.col("design") == EQUAL).any())
            .then(pl.lit(EQUAL))
            .when(pl.col("design").count() > 0)
            .then(several),
        )
    texts = pl.col([name for name in keys if name != "temperature"]).cast(pl.String)
    named = counted(table, keys).with_columns(texts, scope=pl.lit(scope))
    named = named.with_columns(pl.lit(value).alias(name) for name, value in pooled.items())
    return named.select(*SHARED, *PATTERN, "n")


MCNEMAR = "McNemar mid-p"


def flips(change: Array, n: Array) -> str:
    """Return the name of the sign-flip test, which says whether the changes were rounded."""
    return "sign flips exact" if is_exact(change, n) else "sign flips of rounded changes"


def _tested(group: Columns, unequal: bool) -> dict[str, Any]:
    """Return the test of the items that were scored twice, and the share of them that differ.

    With one turn under either condition it is McNemar's with mid-p: over the number of items that
    differ, which is a draw too, it rejects falsely in at most the level, also at Holm's first of
    104 steps, and far less below it than the exact test (benchmarks/coverage.md). Other flips are
    exact. With one turn against several, signs cannot be exchanged: if one of an item's five
    samples is genuine, its change is -0.8 or 0.2, depending on its greedy turn. Then first samples
    are tested (`unequal`).
    """
    is_shared = ~np.isnan(group["change"])
    tested = group["first_change" if unequal else "change"]
    is_tested = is_shared & ~np.isnan(tested)
    change, n = np.round(tested[is_tested], 9), group["n"][is_tested]
    name = MCNEMAR if np.isin(change, (-1, 0, 1)).all() else flips(change, n)
    # One more item that differs and one that does not, since no observed change is not certainty.
    turns = 1.0
    if not unequal and n.sum():
        turns = float(group["n_scored"][is_tested] @ n / n.sum())
    differing = (float(change**2 @ n) + 1 / turns) / (n.sum() + 2)
    of_items, changes = (group[name][is_shared] for name in ("n", "change"))
    return {
        "n_items": int(of_items.sum()),
        "n_rise": int(of_items[changes > 0].sum()),
        "n_fall": int(of_items[changes < 0].sum()),
        "p": sign_flip_p(change, n, 0.5 if name == MCNEMAR else 1.0),
        "test": f"{name} of first samples" if unequal else name,
        "n_tested": n.sum(),
        "differing": differing,
    }


def compared(group: Columns) -> dict[str, Any]:
    """Return two rates over all scored turns, their difference with limits, its bounds and test."""
    margins = scored_margins(group)
    turns, positive = (margins.n @ values for values in (margins.turns, margins.positive))
    difference = change(margins)
    return {
        "n_scored_baseline": round(turns[0]),
        "n_scored": round(turns[1]),
        "rate_baseline": float(positive[0] / turns[0]),
        "rate_condition": float(positive[1] / turns[1]),
        "difference": difference.estimate,
        "lower": difference.lower,
        "upper": difference.upper,
        **_if_unscored(group),
        **_tested(group, bool(group["is_unequal"].any())),
    }


def _if_unscored(group: Columns) -> dict[str, Any]:
    """Return the bounds of a difference over all turns, with their limits.

    At the lower bound every unscored turn of the baseline is genuine and none of the condition is.
    At the upper bound it is the opposite (Manski 1989, J Hum Resour 24:343-360). The lower limit of
    the first and the upper limit of the second cover the difference over all turns with at least
    the stated confidence, whatever made verdicts go missing (Horowitz and Manski 2000, JASA
    95:77-84).
    """
    missing = [group[f"n_turns{s}"] - group[f"n_scored{s}"] for s in (BASELINE, "")]
    genuine = [group[f"n_genuine{s}"] for s in (BASELINE, "")]
    least = change(_margins(group, [genuine[0] + missing[0], genuine[1]], "n_turns"))
    most = change(_margins(group, [genuine[0], genuine[1] + missing[1]], "n_turns"))
    return dict(zip(BOUNDS, (least.estimate, most.estimate, least.lower, most.upper), strict=True))
