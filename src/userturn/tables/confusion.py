"""Table `confusion`: labels of one rater against another's; and its figure."""

import polars as pl

from userturn.humans.labels import NO_LABELS, PEOPLE
from userturn.humans.rater_pairs import comparisons
from userturn.storage.parquet import Schema
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="compare_with_people",
    place=340,
    row="a pair of labels by two raters",
    made_of=("user_turns", "verdicts", "annotations", "round_keys"),
    settings=("families",),
)
MEANINGS = {
    "n": "turns with this pair of labels",
}
SIDE = 46  # pixels of a square
SCHEMA: Schema = {
    "comparison": pl.String,
    "first": pl.String,
    "second": pl.String,
    "label_first": pl.String,
    "label_second": pl.String,
    "n": pl.Int64,
    "weight": pl.Float64,
    "share_of_first": pl.Float64,
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return confusion(*material.labelled)


def confusion(labelled: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return how often each two raters gave each pair of labels; people come first."""
    tables = []
    for kind, first, second, table, raters in comparisons(labelled, judged):
        if first == PEOPLE:
            continue
        if kind == "judge-human":
            first, second, raters = second, first, raters[::-1]
        pairs = table.drop_nulls(raters).group_by(
            pl.col(raters[0]).alias("label_first"),
            pl.col(raters[1]).alias("label_second"),
            maintain_order=True,
        )
        # Sums of floats depend on their order, and threads add up parts of a group.
        total = pl.col("weight").sort().sum()
        counted = pairs.agg(n=pl.len(), weight=total)
        counts = counted.sort("label_first", "label_second").with_columns(
            comparison=pl.lit(kind),
            first=pl.lit(first),
            second=pl.lit(second),
            share_of_first=pl.col("weight") / total.over("label_first"),
            reason=pl.lit(None, pl.String),
        )
        tables.append(counts)
    if "judge-human" not in {table["comparison"][0] for table in tables if table.height}:
        nothing = pl.DataFrame({"comparison": ["judge-human"], "reason": [NO_LABELS]})
        tables.append(nothing)
    filled = pl.concat(tables, how="diagonal_relaxed")
    return pl.DataFrame(
        {n: filled[n] if n in filled.columns else [None] * filled.height for n in SCHEMA}
    ).cast(pl.Schema(SCHEMA))
