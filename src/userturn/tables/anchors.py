"""Table `anchors`: the paper's published results beside this study's."""

import polars as pl

from userturn.storage.parquet import Schema
from userturn.tables.format_columns import in_default_format
from userturn.tables.judge_validity import not_validated
from userturn.tables.layout import Layout, column, printed_only, reported, texts
from userturn.tables.make_tables import Material, Tables
from userturn.tables.published_results import ANCHORS
from userturn.workflow.table_jobs import COMPARED_WITH_PAPER

SCHEMA: Schema = dict.fromkeys(
    ["quantity", "published", "source", "this_study", "outcome", "criterion", "note", "judge"],
    pl.String,
)
NOT_COMPARABLE = "not comparable"
PAPERS_JUDGE = "gpt-5.4-mini"


def table(material: Material) -> pl.DataFrame:
    """Return the table, by the study's primary judge."""
    tables = {name: in_default_format(material.table(name)) for name in COMPARED_WITH_PAPER}
    grid, judge = material.grid, material.grid.primary_judge
    card = material.table("judge_card")
    return anchors(
        tables, judge, None if judge == PAPERS_JUDGE else not_validated(card, grid, judge)
    )


def anchors(tables: Tables, judge: str, unlike: str | None = None) -> pl.DataFrame:
    """Return one row per published result, with this study's result by one judge.

    Args:
        tables: accuracy, contrasts, failure_profiles, families, pooled_rates, post_training, rates.
        judge: the judge whose verdicts are compared.
        unlike: why they are not comparable with those of the paper's judge, or None.
    """
    of_judge = {
        name: table.filter(pl.col("judge").is_in([judge, "verifier"]))
        if "judge" in table.columns
        else table
        for name, table in tables.items()
    }
    rows = []
    for anchor in ANCHORS:
        found = anchor.find(of_judge)
        why_not = unlike if anchor.is_judged else None
        rows.append(
            {
                "quantity": anchor.quantity,
                "published": anchor.published,
                "source": anchor.source,
                "this_study": found.this_study,
                "outcome": NOT_COMPARABLE if why_not else found.outcome or NOT_COMPARABLE,
                "criterion": anchor.criterion,
                "note": why_not or found.note,
                "judge": judge,
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA)


LAYOUT = Layout(
    "Beside the paper",
    {},
    (
        *texts("quantity", "published"),
        column("read in", "text", "source"),
        *texts("this_study", "outcome"),
        printed_only("judge", "text"),
        *texts("criterion", "note"),
        *reported(*texts("judge")),
    ),
)
