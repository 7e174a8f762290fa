"""Table `decoupling`: does accuracy go with follow-ups, over models and over items?"""

import polars as pl

from userturn.stats.association import common_odds_ratio
from userturn.storage.table_files import ANSWER_KEYS, Schema
from userturn.study.cells import ALL, PLAIN
from userturn.tables.added_columns import default_format_rows, is_default, stacked
from userturn.tables.beside_accuracy import (
    BESIDE,
    CORRELATED,
    accuracy_and_follow_ups,
    add_adjusted_p,
    correlations,
    turns_of_graded_items,
)
from userturn.tables.layout import (
    INTERVAL,
    LOWEST,
    Layout,
    P,
    column,
    limits,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import sorted_groups
from userturn.workflow.registry import Table

COUNTED = ("n_right_genuine", "n_right_not", "n_wrong_genuine", "n_wrong_not")
ASSOCIATED: Schema = {
    **dict.fromkeys(("family", "model", "dataset"), pl.String),
    "temperature": pl.Float64,
    "judge": pl.String,
    **dict.fromkeys(("n_items", *COUNTED), pl.Int64),
    **dict.fromkeys(("odds_ratio", "lower", "upper", "phi", "p", "p_adjusted"), pl.Float64),
    "reason": pl.String,
}


def item_association(items: pl.DataFrame, grades: pl.DataFrame) -> pl.DataFrame:
    """Return per model the odds ratio of a follow-up after a correct against a wrong answer.

    Each item has one turn, its first sample, so that items are independent. A conversation or a
    problem has the turn of its first item. There is one row per dataset, and one over datasets
    (`all`) whose four counts are the sums. Infinite values are null.
    """
    keys = ["family", "model", "dataset", "temperature", "judge"]
    turns = items.filter(pl.col("first").is_not_null(), perturbation=PLAIN)
    turns = turns.select(*keys, "first", item="first_item")
    kinds = (pl.col(name).cast(turns.schema[name]) for name in ANSWER_KEYS)
    right = grades.filter(pl.col("correct").is_not_null()).select(*kinds, "correct")
    both = turns.join(right, on=ANSWER_KEYS)
    r, g = pl.col("correct"), pl.col("first")
    cells = both.group_by(keys).agg(
        n_right_genuine=(r & g).sum(),
        n_right_not=(r & ~g).sum(),
        n_wrong_genuine=(~r & g).sum(),
        n_wrong_not=(~r & ~g).sum(),
    )
    texts = pl.col("family", "model", "dataset", "judge").cast(pl.String)
    cells = cells.with_columns(texts).sort(keys)  # the datasets of `all` are added up in this order
    rows = []
    for table in (cells, cells.with_columns(dataset=pl.lit(ALL))):
        for names, group in sorted_groups(table, keys):
            counts = group.select(COUNTED).to_numpy()
            sums = dict(zip(COUNTED, counts.sum(0).tolist(), strict=True))
            odds_ratio = common_odds_ratio(counts)._asdict()
            rows.append(names | sums | {"n_items": int(counts.sum()), **odds_ratio})
    finite = pl.when(pl.col(pl.Float64).is_finite()).then(pl.col(pl.Float64))
    table = pl.DataFrame(rows, schema=ASSOCIATED).with_columns(finite)
    table = table.with_columns(in_default=is_default())
    return add_adjusted_p(table, ["judge", "in_default"]).drop("in_default").sort(*keys)


TABLE = Table(
    rule="analyse",
    place=60,
    row="a model; two of accuracy, rate and size over models; or a model over its items",
    made_of=("verdicts", "grades", "families", "judges", "copies"),
    settings=("seed", "resamples", "thresholds"),
    formats=(".parquet", ".csv", ".md", ".tex"),
    version=5,
)
OF_A_MODEL = "a model"
OVER_MODELS = "models"
OVER_ITEMS = "items of a model"
MEANINGS = {
    "over": (
        f"{OF_A_MODEL}: its accuracy beside its follow-up rate, over the graded items; "
        f"{OVER_MODELS}: Spearman's rank correlation of `x` and `y`; {OVER_ITEMS}: odds of a "
        "genuine turn after right answers over those after wrong ones"
    ),
    "estimate": "rank correlation over models, or odds ratio over items",
    "note": "where the rates are at their floor, or sampling leaves little of a correlation",
}
SCHEMA: Schema = {
    **dict.fromkeys(("over", "x", "y"), pl.String),
    **BESIDE,
    "n_models": pl.Int64,
    **{name: kind for name, kind in ASSOCIATED.items() if name.startswith("n_")},
    **dict.fromkeys(("estimate", "lower", "upper", "phi", "p", "p_adjusted"), pl.Float64),
    **{name: kind for name, kind in CORRELATED.items() if name.startswith("slope")},
    "attenuation": pl.Float64,
    "note": pl.String,
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    beside = accuracy_and_follow_ups(material.items, material.grades, material.table("families"))
    graded = default_format_rows(turns_of_graded_items(material.items, material.grades))
    usual = default_format_rows(beside)
    over_models = correlations(usual, graded, material.seed, material.n_resamples)
    over_items = item_association(material.items, material.grades)
    parts = {
        OF_A_MODEL: beside,
        OVER_MODELS: over_models,
        OVER_ITEMS: over_items.rename({"odds_ratio": "estimate"}),
    }
    return stacked(parts, "over", SCHEMA)


LAYOUT = (
    Layout(
        "Accuracy beside follow-ups",
        {"over": OF_A_MODEL, "temperature": LOWEST},
        (
            *texts("family", "model"),
            column("parameters, billions", "number", "size", printed="size"),
            *texts("dataset", "judge"),
            column("graded", "count", "n_graded"),
            printed_only("scored", "count", "n_scored"),
            column(
                "accuracy",
                "share",
                *(f"accuracy_{n}" for n in ("estimate", *INTERVAL)),
                printed="accuracy %",
            ),
            column(
                "genuine",
                "share",
                *(f"followup_{n}" for n in ("estimate", *INTERVAL)),
                printed="follow-up %",
            ),
            *reported(column("scored", "count", "n_scored")),
        ),
    ),
    Layout(
        "Correlations across models",
        {"over": OVER_MODELS, "dataset": ALL},
        (
            *texts("x", "y", "family", "temperature", "judge"),
            column("models", "count", "n_models"),
            *reported(column("correlation, interval first", "interval", "estimate", *INTERVAL)),
            printed_only("interval", "interval", text=limits(*INTERVAL)),
            printed_only("spearman", "number", "estimate"),
            P[0],
            *reported(P[1], *texts("note", "reason")),
            printed_only(
                "note",
                "text",
                text=pl.concat_str("note", "reason", separator="; ", ignore_nulls=True),
            ),
        ),
        about=(
            "Spearman's rank correlations over the graded datasets, each interval before its "
            "estimate: few models say little. A note says where the rates are at their floor, and "
            "how much of a correlation their sampling leaves."
        ),
    ),
)
