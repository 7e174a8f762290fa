"""Pair items under two conditions, and count the pairs by their shares of genuine turns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from userturn.config.formats import DEFAULT, beside_default, format_of
from userturn.stats.paired import Shares, paired_difference
from userturn.stats.sign_flips import sign_flip_p
from userturn.storage.key_columns import JUDGED_ITEM_KEYS
from userturn.study.cells import PLAIN
from userturn.tables.format_columns import FORMAT

SHARED = [
    "factor", "condition", "baseline", "scope", "family", "model", "dataset",
    "temperature", "perturbation", "judge",
]  # fmt: skip
# The number of turns that an item has under the two conditions.
ONE, EQUAL, UNEQUAL = "one each", "as many each", "not as many each"
SEEN = ["n_turns", "n_scored", "share", "first"]
PATTERN = ["share", "share_baseline", "first", "first_baseline", "design"]
# The columns that `scoped` reads of pairs.
PAIRED = [name for name in SHARED if name != "scope"] + [
    "item", *PATTERN, "n_scored", "n_scored_baseline"
]  # fmt: skip


def shares(items: pl.DataFrame) -> pl.DataFrame:
    """Return the share of genuine turns of each scored item, and that of its first sample."""
    return items.filter(pl.col("n_scored") > 0).select(
        *JUDGED_ITEM_KEYS,
        "family",
        "n_turns",
        "n_scored",
        share=pl.col("n_genuine") / pl.col("n_scored"),
        first=pl.col("first").cast(pl.Float64),
    )


def pairs(
    shares: pl.DataFrame,
    factor: str,
    baseline: Any,
    blocks: Sequence[str],
    before: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Pair items under a condition with the same items under the baseline, one row per pair.

    Args:
        shares: the result of `shares`.
        factor: the column in which the two conditions differ.
        baseline: the value of `factor` in the baseline.
        blocks: the columns that both have in common, including `item`.
        before: the shares under the baseline, if they are not in `shares`.
    """
    others = shares.filter(pl.col(factor) != baseline)
    base = (shares if before is None else before).filter(pl.col(factor) == baseline)
    return beside(others, base, blocks).with_columns(
        factor=pl.lit(factor),
        condition=pl.col(factor).cast(pl.String),
        baseline=pl.lit(str(baseline)),
    )


def beside(after: pl.DataFrame, before: pl.DataFrame, blocks: Sequence[str]) -> pl.DataFrame:
    """Join the shares of items with those of the same items before, in columns `..._baseline`.

    First samples count only if both have one. `design` says whether an item has one turn in each
    condition, equally many in both, or neither.
    """
    both = pl.col("first").is_not_null() & pl.col("first_baseline").is_not_null()
    n, n_before = pl.col("n_turns"), pl.col("n_turns_baseline")
    return after.join(before.select(*blocks, *SEEN), on=blocks, suffix="_baseline").with_columns(
        pl.when(both).then(pl.col("first", "first_baseline")),
        design=pl.when((n == 1) & (n_before == 1))
        .then(pl.lit(ONE))
        .when(n == n_before)
        .then(pl.lit(EQUAL))
        .otherwise(pl.lit(UNEQUAL)),
    )


def paired_items(
    after: pl.DataFrame,
    before: pl.DataFrame,
    coolest: Any,
    baselines: Sequence[tuple[str, str]],
) -> list[pl.DataFrame]:
    """Return the pairs of items under each condition and its baseline.

    There is one table for perturbations, one for temperatures, and one for each model beside a
    base and beside itself in the default format.

    Args:
        after: shares of items, from which those under a condition are taken.
        before: shares of items, from which those under a baseline are taken.
        coolest: the lowest temperature, the baseline of the others.
        baselines: pairs of a post-trained model and one of its bases.
    """

    def under(factor: str, value: Any, some: pl.Expr | None = None) -> pl.DataFrame:
        kept = [t if some is None else t.filter(some) for t in (after, before)]
        return pairs(kept[0], factor, value, [k for k in JUDGED_ITEM_KEYS if k != factor], kept[1])

    models = [
        under("model", base, pl.col("model").cast(pl.String).is_in([name, base]))
        for name, base in baselines
    ]
    names = after["model"].cast(pl.String).unique().to_list()
    formats = [_in_format(after, before, *pair) for pair in beside_default(names)]
    return [under("perturbation", PLAIN), under("temperature", coolest), *models, *formats]


def _in_format(after: pl.DataFrame, before: pl.DataFrame, name: str, model: str) -> pl.DataFrame:
    """Return the pairs of items of a model in another format and in the default one."""
    condition = after.filter(pl.col("model") == name)
    base = before.filter(pl.col("model") == model)
    keys = [key for key in JUDGED_ITEM_KEYS if key != "model"]
    return beside(condition, base, keys).with_columns(
        factor=pl.lit(FORMAT), condition=pl.lit(format_of(name)), baseline=pl.lit(DEFAULT)
    )


def counted(paired: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Count the pairs of each group that have the same shares, sorted."""
    table = paired.group_by(*keys, *PATTERN).agg(
        pl.col("n_scored", "n_scored_baseline").sum(), n=pl.len()
    )
    return table.sort(*keys, *PATTERN)


def shares_of(group: pl.DataFrame) -> Shares:
    """Return the shares of one contrast from the counts of `scoped`."""
    before, after, n, turns_before, turns = (
        group[name].cast(pl.Float64).to_numpy()
        for name in ("share_baseline", "share", "n", "n_scored_baseline", "n_scored")
    )
    n_items = n.sum()
    return Shares(
        before, after, n, float(turns_before.sum() / n_items), float(turns.sum() / n_items)
    )


def scoped(paired: pl.DataFrame, scope: str, pooled: Mapping[str, str]) -> pl.DataFrame:
    """Return pairs counted by their shares, within a scope; `pooled` columns become `all`.

    An item that several models of a family share counts once, with its mean over them.
    """
    texts = [
        pl.col(name).cast(pl.String) for name in SHARED if name not in ("temperature", "scope")
    ]
    table = paired.with_columns(*texts, scope=pl.lit(scope), source=pl.col("dataset"))
    table = table.with_columns(pl.lit(value).alias(name) for name, value in pooled.items())
    if "model" in pooled:
        several = pl.when(pl.len() == 1).then(pl.lit(ONE)).otherwise(pl.lit(EQUAL))
        # Turns are integers and shares are rounded, so that the order of sums does not show.
        table = table.group_by(*SHARED, "source", "item").agg(
            pl.col("share", "share_baseline", "first", "first_baseline").mean().round(9),
            pl.col("n_scored", "n_scored_baseline").sum(),
            design=pl.when((pl.col("design") == UNEQUAL).any())
            .then(pl.lit(UNEQUAL))
            .when((pl.col("design") == ONE).all())
            .then(several)
            .otherwise(pl.lit(EQUAL)),
        )
    return counted(table, SHARED)


def _tested(group: pl.DataFrame) -> dict[str, Any]:
    """Return the p-value of a change, its test, the number of items, and how many differ.

    With one turn against several, signs cannot be exchanged: if one of an item's five samples is
    genuine, its change is -0.8 or 0.2, depending on its greedy turn. Then first samples are tested.
    """
    unequal = bool((group["design"] == UNEQUAL).any())
    after, before = ("first", "first_baseline") if unequal else ("share", "share_baseline")
    seen = group.filter(pl.col(after).is_not_null())
    change = np.round((seen[after] - seen[before]).to_numpy(), 9)
    n = seen["n"].cast(pl.Float64).to_numpy()
    name = "McNemar exact" if np.isin(change, (-1, 0, 1)).all() else "sign flips exact"
    # One more item that differs and one that does not, since no observed change is not certainty.
    scored = group["n_scored"].cast(pl.Float64).to_numpy().sum()
    turns = 1.0 if unequal else float(scored / group["n"].to_numpy().sum())
    differing = (float(change**2 @ n) + 1 / turns) / (n.sum() + 2)
    how = f"{name} of first samples" if unequal else name
    return {
        "p": sign_flip_p(change, n),
        "test": f"{how}, Newcombe 10",
        "n_tested": n.sum(),
        "differing": differing,
    }


def compared(group: pl.DataFrame) -> dict[str, Any]:
    """Return how many items rise and fall, the difference with its interval, and its test.

    Args:
        group: counts of shares of one contrast, as `item_pairs.scoped` returns them.
    """
    shares = shares_of(group)
    before, after, n = shares.before, shares.after, shares.n_items
    n_items, change = n.sum(), np.round(after - before, 9)
    found = paired_difference(shares)
    return {
        "n_items": int(n_items),
        "rate_baseline": float(before @ n / n_items),
        "rate_condition": float(after @ n / n_items),
        "n_rise": int(n[change > 0].sum()),
        "n_fall": int(n[change < 0].sum()),
        "difference": found.estimate,
        "lower": found.lower,
        "upper": found.upper,
        **_tested(group),
    }
