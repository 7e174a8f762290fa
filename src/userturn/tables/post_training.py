"""Table `post_training`: trained models against their bases on the same items."""

from collections.abc import Sequence

import polars as pl

from userturn.config.families import baselines
from userturn.storage.parquet import Schema
from userturn.study.grid import Grid
from userturn.tables.contrasts import COMPARED_SCHEMA, SCOPES, adjusted, compare
from userturn.tables.contrasts import SCHEMA as CONTRAST_SCHEMA
from userturn.tables.item_counts import count_answers
from userturn.tables.item_pairs import PAIRED, pairs, shares
from userturn.tables.layout import (
    INTERVAL,
    OVER_DATASETS,
    TEMPERATURE,
    Layout,
    P,
    column,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.training_overlap import SEEN, mark_seen
from userturn.tables.unscored_bounds import with_bounds
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="analyse",
    place=110,
    row=("a post-trained model against its base; one row with a reason if no model names a base"),
    made_of=("grades", "contrasts", "families", "judge_card"),
    settings=("bases", "exposure", "thresholds"),
    formats=(".parquet", ".csv", ".md", ".tex"),
)
MEANINGS = {
    "judge": "name of the judge, or `verifier` for accuracy",
    "n_items": "items that were scored under both",
}
SCHEMA: Schema = {
    "measure": pl.String,
    **CONTRAST_SCHEMA,
    "method": pl.String,
    **SEEN,
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    grid, members = material.grid, material.table("families")
    before = baselines(grid.models, grid.entries)
    accuracies = accuracy_contrasts(material.grades, members, before)
    return post_training(material.table("contrasts"), accuracies, members, grid)


def graded_shares(grades: pl.DataFrame, families: pl.DataFrame) -> pl.DataFrame:
    """Return the share of right answers to each item, mostly 0 or 1 of one."""
    return shares(count_answers(grades).join(families, on="model"))


def beside_bases(
    after: pl.DataFrame, before: pl.DataFrame, baselines: Sequence[tuple[str, str]]
) -> list[pl.DataFrame]:
    """Pair the items of each post-trained model with those of each of its bases."""
    keys = ["dataset", "item"]
    return [
        pairs(after.filter(pl.col("model") == name), "model", base, keys, before)
        for name, base in baselines
    ]


def accuracy_contrasts(
    grades: pl.DataFrame, families: pl.DataFrame, baselines: Sequence[tuple[str, str]]
) -> pl.DataFrame:
    """Return how the accuracy of each post-trained model differs from that of its bases."""
    right = graded_shares(grades, families)

    def pairing(after: pl.DataFrame, before: pl.DataFrame) -> list[pl.DataFrame]:
        return beside_bases(after, before, baselines)

    tables = [pl.DataFrame(schema=COMPARED_SCHEMA)]
    tables += [compare(part.select(PAIRED)) for part in pairing(right, right)]
    items = count_answers(grades).join(families, on="model")
    return adjusted(with_bounds(pl.concat(tables), items, SCOPES, pairing), [])


def post_training(
    contrasts: pl.DataFrame, accuracies: pl.DataFrame, families: pl.DataFrame, grid: Grid
) -> pl.DataFrame:
    """Return how post-training changes follow-ups and accuracy on shared items.

    A model trained from a trained one has rows against that model and against their common base.
    `method` is how it was trained; `seen` and `trains_on_the_metric` qualify each row
    (`held_out.mark_seen`).
    """
    followups = contrasts.filter(pl.col("factor") == "model")
    table = pl.concat(
        [
            followups.select(pl.lit("follow-up").alias("measure"), pl.all()),
            accuracies.select(pl.lit("accuracy").alias("measure"), pl.all()),
        ]
    ).filter(pl.col("scope") != "family")
    methods = families.select("model", "method")
    table = table.join(methods, on="model", how="left", maintain_order="left")
    table = mark_seen(table, grid.entries, grid.contents.recipes, grid.datasets)
    table = table.with_columns(reason=pl.lit(None, dtype=pl.String))
    if table.height:
        return table
    reason = "no model line of this study names its base"
    return pl.DataFrame([{"reason": reason}], schema=table.schema)


def _yes_or_no(column: str) -> pl.Expr:
    yes = pl.when(column).then(pl.lit("yes")).when(~pl.col(column)).then(pl.lit("no"))
    return yes.otherwise(pl.lit("not known"))


LAYOUT = Layout(
    "What post-training changes",
    {},
    (
        *texts("measure", "model", "baseline"),
        *reported(*texts("dataset")),
        *texts("judge"),
        TEMPERATURE,
        column("items", "count", "n_items"),
        column("change", "change", "difference", *INTERVAL, printed="difference, points"),
        P[0],
        *reported(P[1], *texts("reason")),
        printed_only("a dataset was seen", "text", text=_yes_or_no("seen")),
        printed_only("trained on the metric", "text", text=_yes_or_no("trains_on_the_metric")),
    ),
    printed=OVER_DATASETS,
)
