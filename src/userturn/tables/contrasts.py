"""Contrasts on shared items: does a condition change what the same items get?"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from userturn.config.families import bases
from userturn.prompts.perturbations import controls_of
from userturn.stats.bootstrap import clustered_mean, sign_flip_p
from userturn.stats.multiple_tests import benjamini_hochberg, holm
from userturn.stats.paired import detectable_difference, mcnemar, newcombe
from userturn.stats.proportions import Array, Interval
from userturn.stats.rng import generator
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.material import Material
from userturn.tables.print_layout import number, p_value, percent
from userturn.tables.report_layout import (
    INTERVAL,
    P,
    Shown,
    column,
    texts,
)

ITEM = ["model", "dataset", "temperature", "perturbation", "judge", "item"]
SHARED = [
    "factor", "condition", "baseline", "scope", "family", "model", "dataset",
    "temperature", "perturbation", "judge",
]  # fmt: skip
CONTRAST_SCHEMA: Schema = {
    **dict.fromkeys(SHARED[:7], pl.String),
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "judge": pl.String,
    "n_items": pl.Int64,
    "rate_baseline": pl.Float64,
    "rate_condition": pl.Float64,
    "n_rise": pl.Int64,
    "n_fall": pl.Int64,
    "difference": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "tests": pl.String,
    "correction": pl.String,
    "test": pl.String,
    "detectable_difference": pl.Float64,
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    grid = material.grid
    before, controls = bases(grid.models), controls_of(grid.perturbations)
    return contrasts(material.items, before, controls, material.seed, material.n_resamples)


def shares(items: pl.DataFrame) -> pl.DataFrame:
    """Return the share of genuine turns of each item that was scored, and if it is one turn."""
    return items.filter(pl.col("n_scored") > 0).select(
        *ITEM, "family", share=pl.col("n_genuine") / pl.col("n_scored"), once=pl.col("n_turns") == 1
    )


def pairs(shares: pl.DataFrame, factor: str, baseline: Any, blocks: Sequence[str]) -> pl.DataFrame:
    """Return items under a condition beside the same items under the baseline.

    Args:
        shares: as `shares` gives them.
        factor: the column in which the two differ.
        baseline: its value in the baseline.
        blocks: what they have in common, `item` among it.
    """
    plain = shares.filter(pl.col(factor) == baseline).select(*blocks, "share", "once")
    others = shares.filter(pl.col(factor) != baseline)
    return others.join(plain, on=blocks, suffix="_baseline").with_columns(
        factor=pl.lit(factor),
        condition=pl.col(factor).cast(pl.String),
        baseline=pl.lit(str(baseline)),
        once=pl.col("once") & pl.col("once_baseline"),
    )


def _scoped(paired: pl.DataFrame, scope: str, pooled: Mapping[str, str]) -> pl.DataFrame:
    """Return pairs counted by their two shares, within a scope; `pooled` columns become `all`.

    An item that several models of a family share counts once, with its mean over them.
    """
    texts = [
        pl.col(name).cast(pl.String) for name in SHARED if name not in ("temperature", "scope")
    ]
    table = paired.with_columns(*texts, scope=pl.lit(scope), source=pl.col("dataset"))
    table = table.with_columns(pl.lit(value).alias(name) for name, value in pooled.items())
    if "model" in pooled:
        table = table.group_by(*SHARED, "source", "item").agg(
            pl.col("share", "share_baseline").mean().round(9),
            once=pl.col("once").all() & (pl.len() == 1),
        )
    return table.group_by(*SHARED, "share", "share_baseline", "once").agg(n=pl.len())


def _several_turns(
    change: Array, n: Array, n_resamples: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Return test and interval of the items' mean change, which may be any fraction."""
    total = n.sum()
    mean = float(change @ n / total)
    constant = bool((change[n > 0] == change[n > 0][0]).all())
    interval = (
        Interval(mean, None, None) if constant else clustered_mean(change, n, n_resamples, rng)
    )
    variance = float((change - mean) ** 2 @ n / total)
    reason = "no interval: every item changes alike" if constant else None
    return {
        "difference": mean,
        "lower": interval.lower,
        "upper": interval.upper,
        "p": sign_flip_p(change, n, n_resamples, rng),
        "test": "sign flips, bootstrap over items",
        # For a mean: the share that differs, ψ, is its variance plus the squared mean.
        "detectable_difference": float(detectable_difference(total, variance + mean**2))
        if total
        else None,
        "reason": reason,
    }


def _one_turn(both: int, rise: int, fall: int, neither: int) -> dict[str, Any]:
    """Return McNemar's test and Newcombe's interval of items with one turn in each condition."""
    n = both + rise + fall + neither
    difference, lower, upper = newcombe(both, fall, rise, neither)
    return {
        "difference": float(difference),
        "lower": float(lower),
        "upper": float(upper),
        "p": float(mcnemar(fall, rise)),
        "test": "McNemar exact, Newcombe 10",
        # One pair more of each kind, so that a sample without any change still has a limit.
        "detectable_difference": float(detectable_difference(n, (rise + fall + 1) / (n + 2))),
        "reason": None,
    }


def compared(group: pl.DataFrame, n_resamples: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return how many items rise and fall, the difference with its interval, and its test.

    Args:
        group: `share`, `share_baseline`, `once` and `n`, how many items have these.
        n_resamples: bootstrap resamples and sign flips.
        rng: their source.
    """
    after, before, n = (
        group[c].cast(pl.Float64).to_numpy() for c in ("share", "share_baseline", "n")
    )
    change = np.round(after - before, 9)
    n_rise, n_fall = int(n[change > 0].sum()), int(n[change < 0].sum())
    if group["once"].all():
        both = int(n[(after == 1) & (before == 1)].sum())
        tested = _one_turn(both, n_rise, n_fall, int(n.sum()) - both - n_rise - n_fall)
    else:
        tested = _several_turns(change, n, n_resamples, rng)
    return {
        "n_items": int(n.sum()),
        "rate_baseline": float(before @ n / n.sum()),
        "rate_condition": float(after @ n / n.sum()),
        "n_rise": n_rise,
        "n_fall": n_fall,
        **tested,
    }


def compare(paired: pl.DataFrame, seed: int, n_resamples: int) -> pl.DataFrame:
    """Return a contrast of each cell, of each model over datasets, and of each family."""
    scopes: dict[str, dict[str, str]] = {
        "model and dataset": {},
        "model": {"dataset": ALL},
        "family": {"dataset": ALL, "model": ALL},
    }
    rows = []
    for scope, pooled in scopes.items():
        counts = _scoped(paired, scope, pooled).sort(*SHARED, "share", "share_baseline", "once")
        for names, group in counts.partition_by(SHARED, as_dict=True, maintain_order=True).items():
            row = compared(group, n_resamples, generator(seed, "contrast", *names))
            rows.append(dict(zip(SHARED, names, strict=True)) | row)
    return pl.DataFrame(rows, schema=CONTRAST_SCHEMA)


def adjusted(contrasts: pl.DataFrame, controls: Sequence[str]) -> pl.DataFrame:
    """Return contrasts with the p-values of each set of tests adjusted.

    Confirmatory are the contrasts of models over all datasets: of perturbations at the lowest
    temperature, of temperatures without a perturbation, and of models with their bases. Holm's
    step-down holds the error of each such set, one a factor, judge and kind. All others
    explore, and have Benjamini and Hochberg's share of false discoveries instead.
    """
    lowest = pl.col("temperature").min()
    plain = pl.col("perturbation") == PLAIN
    main = (
        pl.when(pl.col("factor") == "perturbation")
        .then(pl.col("temperature") == lowest)
        .when(pl.col("factor") == "temperature")
        .then(plain)
        .otherwise(plain & (pl.col("temperature") == lowest))
    )
    is_control = pl.col("perturbation").is_in(list(controls))
    confirmatory = main & (pl.col("scope") == "model")
    table = contrasts.with_columns(
        correction=pl.when(confirmatory)
        .then(pl.lit("Holm"))
        .otherwise(pl.lit("Benjamini-Hochberg")),
        tests=pl.format(
            "{} {} by {}",
            pl.when(confirmatory).then(pl.lit("confirmatory")).otherwise(pl.lit("exploratory")),
            pl.when(is_control).then(pl.lit("control")).otherwise("factor"),
            "judge",
        ),
    )
    parts = [
        part.with_columns(
            p_adjusted=(holm if part["correction"][0] == "Holm" else benjamini_hochberg)(
                part["p"].to_numpy()
            )
        )
        for part in table.partition_by("tests", maintain_order=True)
    ]
    return pl.concat(parts).sort(*SHARED) if parts else table


def contrasts(
    items: pl.DataFrame,
    bases: Mapping[str, str],
    controls: Sequence[str],
    seed: int,
    n_resamples: int,
) -> pl.DataFrame:
    """Return every contrast on shared items: perturbations, temperatures, models with their bases.

    Args:
        items: one row per item of a cell and judge, with `family`.
        bases: the model before post-training, by the name of the one after it.
        controls: the names of perturbations that are controls.
        seed: of the study.
        n_resamples: bootstrap resamples and sign flips.
    """
    table = shares(items)
    tables = [pairs(table, "perturbation", PLAIN, [k for k in ITEM if k != "perturbation"])]
    lowest = items["temperature"].min()
    tables.append(pairs(table, "temperature", lowest, [k for k in ITEM if k != "temperature"]))
    columns = list(dict.fromkeys([*SHARED, "item", "share", "share_baseline", "once"]))
    columns.remove("scope")
    for after, before in sorted(bases.items()):
        two = table.filter(pl.col("model").cast(pl.String).is_in([after, before]))
        tables.append(pairs(two, "model", before, [k for k in ITEM if k != "model"]))
    rows = [compare(part.select(columns), seed, n_resamples) for part in tables if part.height]
    all_rows = pl.concat(rows) if rows else pl.DataFrame(schema=CONTRAST_SCHEMA)
    return adjusted(all_rows, controls).select(list(CONTRAST_SCHEMA))


def printed(table: pl.DataFrame) -> pl.DataFrame:
    """Return the confirmatory contrasts."""
    rows = table.filter(pl.col("correction") == "Holm")
    return rows.select(
        "factor",
        "condition",
        "baseline",
        "model",
        "judge",
        items="n_items",
        difference=percent("difference"),
        p=p_value("p"),
        **{"p (Holm)": p_value("p_adjusted")},
        detectable=number("detectable_difference", 3),
    )


REPORTED = Shown(
    "Contrasts on the same items",
    {"correction": "Holm"},
    (
        *texts("factor", "condition", "baseline", "model", "judge"),
        column("items", "count", "n_items"),
        column("change", "change", "difference", *INTERVAL),
        *P,
        column("detectable change", "change", "detectable_difference"),
    ),
)
