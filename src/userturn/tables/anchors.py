"""Table `anchors`: the paper's published results beside this study's."""

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from userturn.storage.parquet import Schema
from userturn.tables import anchor_evidence as evidence
from userturn.tables.anchor_evidence import Found
from userturn.tables.anchor_rules import MARGIN
from userturn.tables.format_columns import in_default_format
from userturn.tables.judge_validity import not_validated
from userturn.tables.layout import Layout, column, printed_only, reported, texts
from userturn.tables.make_tables import Material, Tables
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="compare_with_paper",
    place=280,
    row="a published result",
    made_of=(
        "rates",
        "accuracy",
        "families",
        "contrasts",
        "judges",
    ),
    settings=("primary_judge", "thresholds"),
    formats=(".parquet", ".csv", ".md"),
)
MEANINGS = {
    "quantity": "what was published",
    "source": "where it was read (abstract, an appendix as others quote it, or a digest)",
    "outcome": "agrees, differs, cannot tell or not comparable",
}
SCHEMA: Schema = dict.fromkeys(
    ["quantity", "published", "source", "this_study", "outcome", "criterion", "note", "judge"],
    pl.String,
)
NOT_COMPARABLE = "not comparable"
PAPERS_JUDGE = "gpt-5.4-mini"


def table(material: Material) -> pl.DataFrame:
    """Return the table, by the study's primary judge."""
    names = [name for name in TABLE.made_of if name != "judges"]
    tables = {name: in_default_format(material.table(name)) for name in names}
    grid, judge = material.grid, material.grid.primary_judge
    card = material.table("judges")
    return anchors(
        tables, judge, None if judge == PAPERS_JUDGE else not_validated(card, grid, judge)
    )


def anchors(tables: Tables, judge: str, unlike: str | None = None) -> pl.DataFrame:
    """Return one row per published result, with this study's result by one judge.

    Args:
        tables: accuracy, contrasts, families, rates.
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


ABSTRACT, APPENDIX, DIGEST = "abstract", "appendix, quoted", "digest"  # where a claim was read


class Anchor(NamedTuple):
    """One published result: where it was read, what counts as agreement, how to find ours."""

    quantity: str
    published: str
    source: str
    criterion: str
    find: Callable[[Tables], Found]
    is_judged: bool = True  # whether it depends on a judge's verdicts


POINTS = f"{100 * MARGIN:g} points"
SHARE = f"ours: the 95% interval lies within {POINTS} of the published value; outside: differs"
RISES = f"ours: both intervals are above 0; one below {POINTS} and not above 0: differs"
ANCHORS = [
    Anchor(
        "grid", "11 models, 5 datasets", ABSTRACT, "the same numbers", evidence.size_of_study, False
    ),
    Anchor(
        "GSM8K accuracy of Qwen3.5-0.8B",
        "41%",
        ABSTRACT,
        SHARE,
        evidence.accuracy("qwen3.5-0.8b", 0.41, 0.005),
        False,
    ),
    Anchor(
        "GSM8K accuracy of Qwen3.5-397B-A17B",
        "96.8%",
        ABSTRACT,
        SHARE,
        evidence.accuracy("qwen3.5-397b-a17b", 0.968, 0.0005),
        False,
    ),
    Anchor(
        "follow-up of Qwen3.5, deterministic",
        "near zero at every size",
        ABSTRACT,
        f"ours: every model's interval is below {MARGIN:.0%}; one above it: differs",
        evidence.near_zero,
    ),
    Anchor(
        "highest follow-up of Qwen3.5 when sampled",
        "22%",
        ABSTRACT,
        SHARE + "; an interval of the highest of all cells",
        evidence.highest_when_sampled,
    ),
    Anchor(
        "follow-up over size",
        "a larger model is not always more aware",
        DIGEST,
        "ours: the greedy rate does not rise from the smallest to the largest Qwen3.5: the "
        f"interval of that rise is not above 0, and below {POINTS}; above 0: differs",
        evidence.larger_is_not_better,
    ),
    Anchor(
        "share of assistant_turn_restate of gpt-oss", "70.2%", APPENDIX, SHARE, evidence.restating
    ),
    Anchor(
        "perturbations, gpt-oss",
        "both raise follow-up",
        DIGEST,
        RISES,
        evidence.perturbations("gpt-oss", True),
    ),
    Anchor(
        "perturbations, GLM",
        "both raise follow-up",
        DIGEST,
        RISES,
        evidence.perturbations("glm", True),
    ),
    Anchor(
        "perturbations, Qwen3.5",
        "neither raises follow-up",
        DIGEST,
        f"ours: no interval is above 0, and both are below {POINTS}; one above 0: differs",
        evidence.perturbations("qwen3.5", False),
    ),
    Anchor(
        "post-training of Qwen3.5-2B",
        "SFT and RL raise follow-up",
        DIGEST,
        RISES,
        evidence.post_training,
    ),
]


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
