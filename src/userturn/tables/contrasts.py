"""Table `contrasts`: a condition against its baseline on the same items."""

from collections.abc import Sequence

import polars as pl

from userturn.config.families import baselines
from userturn.prompts.perturbations import controls_of
from userturn.stats.multiple_tests import benjamini_hochberg, holm
from userturn.stats.paired import detectable_difference
from userturn.stats.proportions import CONFIDENCE
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.format_columns import FORMAT, is_default
from userturn.tables.item_pairs import (
    PAIRED,
    SHARED,
    compared,
    paired_items,
    scoped,
    shares,
)
from userturn.tables.layout import IF_UNSCORED, INTERVAL, Layout, P, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.unscored_bounds import BOUNDS, with_bounds
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="analyse",
    place=30,
    row="a condition against its baseline, on shared items",
    made_of=("verdicts", "families", "judge_card"),
    settings=("bases", "controls", "thresholds"),
    formats=(".parquet", ".csv", ".md", ".tex"),
)
MEANINGS = {
    "n_items": "items that were scored under both",
}
SCHEMA: Schema = {
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
    **BOUNDS,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "tests": pl.String,
    "correction": pl.String,
    "test": pl.String,
    "detectable_difference": pl.Float64,
    "detectable_level": pl.Float64,
}
OF_THE_SET = ("p_adjusted", "tests", "correction", "detectable_difference", "detectable_level")
COMPARED_SCHEMA: Schema = {
    **{name: kind for name, kind in SCHEMA.items() if name not in OF_THE_SET},
    "n_tested": pl.Float64,
    "differing": pl.Float64,
}

SCOPES: dict[str, dict[str, str]] = {  # by name, the columns that each scope pools
    "model and dataset": {},
    "model": {"dataset": ALL},
    "family": {"dataset": ALL, "model": ALL},
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    grid = material.grid
    before = baselines(grid.models, grid.entries)
    return contrasts(material.items, before, controls_of(grid.perturbations))


def compare(paired: pl.DataFrame) -> pl.DataFrame:
    """Return the contrast of each cell, of each model over datasets, and of each family.

    Returns:
        The columns of `COMPARED_SCHEMA`: a contrast without its adjustment for multiple tests.
    """
    rows = []
    for scope, pooled in SCOPES.items():
        counts = scoped(paired, scope, pooled)
        for names, group in counts.partition_by(SHARED, as_dict=True, maintain_order=True).items():
            rows.append(dict(zip(SHARED, names, strict=True)) | compared(group))
    return pl.DataFrame(rows, schema=COMPARED_SCHEMA)


def in_sets(contrasts: pl.DataFrame, controls: Sequence[str], confirming: pl.Expr) -> pl.DataFrame:
    """Return contrasts with the set of tests that each belongs to, and how it is adjusted.

    Args:
        contrasts: columns factor, temperature, perturbation and judge, among others.
        controls: names of the perturbations that are controls.
        confirming: which rows are confirmatory, given the main temperature and perturbation.
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
        tests=pl.format("{} {}{} by {}", kind, what, where, "judge"),
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
    parts = []
    sets = in_sets(contrasts, controls, pl.col("scope") == "model")
    for part in sets.partition_by("tests", maintain_order=True):
        confirms = part["correction"][0] == "Holm"
        p = part["p"].to_numpy()
        level = (1 - CONFIDENCE) / (part.height if confirms else 1)
        detectable = detectable_difference(part["n_tested"], part["differing"], level)
        parts.append(
            part.with_columns(
                p_adjusted=(holm if confirms else benjamini_hochberg)(p),
                detectable_difference=pl.Series(detectable).fill_nan(None),
                detectable_level=pl.lit(level),
            ).select(list(SCHEMA))
        )
    return pl.concat(parts).sort(*SHARED) if parts else pl.DataFrame(schema=SCHEMA)


def contrasts(
    items: pl.DataFrame, baselines: Sequence[tuple[str, str]], controls: Sequence[str]
) -> pl.DataFrame:
    """Return every contrast on shared items, of `item_pairs.paired_items`.

    Args:
        items: one row per item of a cell and judge, with `family`.
        baselines: pairs of a post-trained model and one of its bases.
        controls: names of the perturbations that are controls.
    """
    seen = shares(items)

    def pairing(after: pl.DataFrame, before: pl.DataFrame) -> list[pl.DataFrame]:
        return paired_items(after, before, items["temperature"].min(), baselines)

    found = [compare(part.select(PAIRED)) for part in pairing(seen, seen) if part.height]
    table = pl.concat(found) if found else pl.DataFrame(schema=COMPARED_SCHEMA)
    return adjusted(with_bounds(table, items, SCOPES, pairing), controls)


LAYOUT = Layout(
    "Contrasts on the same items",
    {"correction": "Holm"},
    (
        *texts("factor", "condition", "baseline", "model", "judge"),
        column("items", "count", "n_items"),
        column("change", "change", "difference", *INTERVAL, printed="difference, points"),
        IF_UNSCORED,
        *P,
        column(
            "detectable change, at Holm's first step",
            "change",
            "detectable_difference",
            printed="detectable, points",
        ),
    ),
)
