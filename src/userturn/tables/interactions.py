"""Table `interactions`: does a condition change one family's follow-ups more than another's?"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from userturn.prompts.perturbations import controls_of
from userturn.stats.interaction import interaction
from userturn.stats.multiple_tests import benjamini_hochberg, holm
from userturn.stats.paired import Shares
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.contrasts import in_sets
from userturn.tables.format_columns import in_default_format
from userturn.tables.item_pairs import UNEQUAL, paired_items, shares
from userturn.tables.layout import INTERVAL, TEMPERATURE, Layout, P, column, reported, texts
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="analyse",
    place=40,
    row="a condition and two families, on shared items",
    made_of=("verdicts", "families", "judge_card"),
    settings=("controls", "thresholds"),
    formats=(".parquet", ".csv", ".md", ".tex"),
)
MEANINGS = {
    "family": "the family whose change is compared",
    "other_family": "the family that it is compared with",
    "change": "difference of the first family",
    "difference": "change minus change_other",
    "n_models": "models of the first family",
    "n_items": "items that were scored under both in both families",
}
PLACE = ["factor", "condition", "baseline", "dataset", "temperature", "perturbation", "judge"]
ITEM = ["source", "item"]
COUNTS = ["share", "share_baseline", "first", "first_baseline", "n_scored", "n_scored_baseline"]
SCHEMA: Schema = {
    **dict.fromkeys(("factor", "condition", "baseline", "family", "other_family"), pl.String),
    "dataset": pl.String,
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "judge": pl.String,
    "n_items": pl.Int64,
    "n_models": pl.Int64,
    "n_models_other": pl.Int64,
    "change": pl.Float64,
    "change_other": pl.Float64,
    "difference": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "tests": pl.String,
    "correction": pl.String,
    "test": pl.String,
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    members = in_default_format(material.table("families")).filter(pl.col("base").is_null())
    original = pl.col("model").cast(pl.String).is_in(members["model"].to_list())
    return interactions(material.items.filter(original), controls_of(material.grid.perturbations))


def of_families(paired: pl.DataFrame) -> pl.DataFrame:
    """Return items of each family under two conditions: the mean over the family's models.

    Args:
        paired: items of each model, each with the same item under the baseline.

    Returns:
        The columns `PLACE`, `family`, `source` (the dataset) and `item`; mean shares; turns of an
        item and model; `n_models`; `unequal`: whether one condition has more turns than the other.
    """
    keys = [pl.col(name).cast(pl.String) for name in PLACE if name != "temperature"]
    named = paired.with_columns(*keys, pl.col("family", "item").cast(pl.String))
    named = named.with_columns(source="dataset")
    # Shares are rounded, so that the order of sums does not show.
    return named.group_by(*PLACE, "family", *ITEM).agg(
        pl.col(COUNTS[:4]).mean().round(9),
        pl.col(COUNTS[4:]).sum(),
        models=pl.col("model").cast(pl.String).unique().sort(),
        unequal=(pl.col("design") == UNEQUAL).any(),
    )


def _shares(group: pl.DataFrame, suffix: str, values: tuple[str, str]) -> Shares:
    """Return one family's shares; an item's turns over all models of the family are its turns."""
    after, before, turns, turns_before = (
        group[name + suffix].cast(pl.Float64).to_numpy()
        for name in (*values, "n_scored", "n_scored_baseline")
    )
    n = max(len(after), 1)  # there may be no item whose first samples were all scored
    return Shares(
        before, after, np.ones(len(after)), float(turns_before.sum()) / n, float(turns.sum()) / n
    )


def _compared(group: pl.DataFrame) -> dict[str, Any]:
    """Return the comparison of two families on the items that were scored for both."""
    seen = ("share", "share_baseline")
    both = _shares(group, "", seen), _shares(group, "_other", seen)
    unequal = bool((group["unequal"] | group["unequal_other"]).any())
    firsts = ("first", "first_baseline")
    suffixes = ("", "_other")
    kept = group.drop_nulls([f"{n}{s}" for n in firsts for s in suffixes]) if unequal else group
    tested = [_shares(kept, s, firsts if unequal else seen) for s in suffixes]
    found = interaction(*both, (tested[0], tested[1]))
    models = {f"n_models{s}": group[f"models{s}"].explode().n_unique() for s in suffixes}
    return {
        "n_items": group.height,
        **models,
        "change": found.first.estimate,
        "change_other": found.second.estimate,
        "difference": found.difference.estimate,
        "lower": found.difference.lower,
        "upper": found.difference.upper,
        "p": found.p,
        "test": "sign flips exact" + (" of first samples" if unequal else ""),
    }


def _rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Return a row for each pair of families and each place that has both."""
    families = table.partition_by("family", as_dict=True)
    rows = []
    for (family,), (other,) in combinations(sorted(families), 2):
        both = families[family,].join(families[other,], on=[*PLACE, *ITEM], suffix="_other")
        groups = both.sort(*PLACE, *ITEM).partition_by(PLACE, as_dict=True, maintain_order=True)
        for names, group in groups.items():
            place = dict(zip(PLACE, names, strict=True))
            rows.append({**place, "family": family, "other_family": other, **_compared(group)})
    return rows


def interactions(items: pl.DataFrame, controls: Sequence[str]) -> pl.DataFrame:
    """Return how the changes of each pair of families differ, by perturbation and by temperature.

    The sets of tests are those of the contrasts: over all datasets, perturbations at the lowest
    temperature and temperatures without a perturbation are confirmatory (Holm), all others
    exploratory.

    Args:
        items: one row per item of a cell and judge, with `family`; no post-trained models.
        controls: names of the perturbations that are controls.
    """
    seen = shares(items)
    paired = paired_items(seen, seen, items["temperature"].min(), [])
    tables = [of_families(part) for part in paired if part.height]
    rows = [
        row
        for part in tables
        for table in (part, part.with_columns(dataset=pl.lit(ALL)))
        for row in _rows(table)
    ]
    if rows:
        return _adjusted(pl.DataFrame(rows, schema=SCHEMA), controls)
    known = ", ".join(sorted(items["family"].cast(pl.String).unique()))
    reason = f"no two families under two conditions on the same items; families: {known}"
    return pl.DataFrame([{"dataset": ALL, "reason": reason}], schema=SCHEMA)


def _adjusted(table: pl.DataFrame, controls: Sequence[str]) -> pl.DataFrame:
    parts = []
    sets = in_sets(table, controls, pl.col("dataset") == ALL)
    for part in sets.partition_by("tests", maintain_order=True):
        adjust = holm if part["correction"][0] == "Holm" else benjamini_hochberg
        parts.append(part.with_columns(p_adjusted=adjust(part["p"].to_numpy())))
    return pl.concat(parts).select(list(SCHEMA)).sort("factor", "family", "other_family", *PLACE)


LAYOUT = Layout(
    "Do families change alike?",
    {"dataset": ALL},
    (
        *texts("factor", "condition", "family", "other_family"),
        *reported(TEMPERATURE, *texts("perturbation")),
        *texts("judge"),
        column("items", "count", "n_items"),
        *reported(
            column("its change", "change", "change"),
            column("the other's", "change", "change_other"),
        ),
        column(
            "difference",
            "change",
            "difference",
            *INTERVAL,
            printed="its change less the other's, points",
        ),
        *P,
        *reported(*texts("reason")),
    ),
    printed={"correction": "Holm"},
)
