"""Table `confusion`: labels of one rater against another's, and the turns that they differ on.

It has no text of a turn, so it may leave with an archive; the report's explorer has the texts.
"""

import polars as pl

from userturn.humans.labels import NO_LABELS, PEOPLE, comparisons, judges_of
from userturn.judges.verdict import GENUINE
from userturn.storage.table_files import Schema
from userturn.tables.added_columns import stacked
from userturn.tables.make_tables import Material
from userturn.workflow.registry import Table

TABLE = Table(
    rule="compare_with_people",
    place=340,
    row="a pair of labels by two raters; or a turn that a judge and people label differently",
    made_of=("user_turns", "verdicts", "annotations", "round_keys", "copies"),
    settings=("families",),
    version=2,
)
PAIRS, TURNS = "pairs of labels", "turns"
MEANINGS = {
    "part": f"what the row is of: {PAIRS}, {TURNS} that differ",
    "n": "turns with this pair of labels",
    "weight": "turns of the study that they represent",
    "differ_in_genuine": "of a turn: whether they differ in genuine or not",
    "labels": "of a turn: label by each annotator",
}
SIDE = 46  # pixels of a square
SCHEMA: Schema = {
    **dict.fromkeys(("part", "comparison", "first", "second"), pl.String),
    **dict.fromkeys(("label_first", "label_second"), pl.String),
    "n": pl.Int64,
    "weight": pl.Float64,
    "share_of_first": pl.Float64,
    "differ_in_genuine": pl.Boolean,
    **dict.fromkeys(("round", "id", "family", "model", "dataset"), pl.String),
    "temperature": pl.Float64,
    **dict.fromkeys(("perturbation", "item"), pl.String),
    "sample": pl.Int64,
    **dict.fromkeys(("labels", "reason"), pl.String),
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    labelled, judged = material.labelled
    parts = {PAIRS: confusion(labelled, judged), TURNS: disagreements(labelled)}
    return stacked(parts, "part", SCHEMA)


def confusion(labelled: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return the number of turns with each pair of labels by two raters, people before a judge.

    `labelled` and `judged` are those of `labelled_beside_judges`. Without people's labels, a row
    says so.
    """
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
    return pl.concat([pl.DataFrame(schema=SCHEMA), *tables], how="diagonal_relaxed")


def disagreements(labelled: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each judge and turn on which the judge and people do not agree.

    Where people differ, or the judge has no label, `differ_in_genuine` is null, and the row comes
    first. Then come the turns that only one side calls genuine.
    """
    people_say = pl.col(PEOPLE) == GENUINE
    tables = [
        labelled.filter(~pl.col(PEOPLE).eq_missing(pl.col(column))).with_columns(
            comparison=pl.lit("judge-human"),
            first=pl.lit(PEOPLE),
            second=pl.lit(judge),
            label_first=pl.col(PEOPLE),
            label_second=pl.col(column),
            n=1,
            differ_in_genuine=people_say != (pl.col(column) == GENUINE),
            reason=pl.when(pl.col(PEOPLE).is_null()).then(pl.lit("people differ")),
        )
        for column, judge in judges_of(labelled).items()
    ]
    pairs = pl.concat([pl.DataFrame(schema=SCHEMA), *tables], how="diagonal_relaxed")
    return pairs.select(list(SCHEMA)).sort(
        "differ_in_genuine", "second", "round", "id", descending=[True, False, False, False]
    )
