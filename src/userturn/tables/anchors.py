"""Table `anchors`: the paper's published results, and a study's own predictions, beside its own."""

from collections.abc import Callable, Mapping
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from userturn.storage.table_files import Schema
from userturn.tables import anchor_evidence as evidence
from userturn.tables.added_columns import default_format_rows
from userturn.tables.anchor_evidence import StudyResult
from userturn.tables.anchor_rules import FAILS, HOLDS, MARGIN, UNDECIDED
from userturn.tables.judge_validity import not_validated
from userturn.tables.layout import Layout, column, printed_only, reported, texts
from userturn.tables.make_tables import Material, Tables
from userturn.workflow.registry import Table

TABLE = Table(
    rule="compare_with_paper",
    place=280,
    row="a published result, or a prediction of the study",
    made_of=("rates", "accuracy", "families", "contrasts", "judges"),
    settings=("primary_judge", "thresholds", "predictions"),
    formats=(".parquet", ".csv", ".md"),
    version=3,
)
MEANINGS = {
    "quantity": "what was published or predicted",
    "published": "the value or direction",
    "source": (
        "where it was read (abstract, an appendix as others quote it, or a digest), or the "
        "study's own prediction (`predictions` of the config)"
    ),
    "outcome": "reproduced, not reproduced, undecided or not comparable; of its own: holds, fails",
    "n_more": (
        "where that is undecided: items beyond the study's after which it would be decided if the "
        "estimate stayed; null where that is beyond any plan"
    ),
    "criterion": "when it is reproduced, or holds",
    "refuted_if": "when it is not",
}
SCHEMA: Schema = {
    **dict.fromkeys(["quantity", "published", "source", "this_study", "outcome"], pl.String),
    "n_more": pl.Int64,
    **dict.fromkeys(["criterion", "refuted_if", "note", "judge"], pl.String),
}
OF_THE_PAPER = {HOLDS: "reproduced", FAILS: "not reproduced", UNDECIDED: UNDECIDED}
OWN = "own prediction"
NOT_COMPARABLE = "not comparable"
PAPERS_JUDGE = "gpt-5.4-mini"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study, by its primary judge."""
    names = [name for name in TABLE.made_of if name != "judges"]
    tables = {name: default_format_rows(material.table(name)) for name in names}
    grid, judge = material.grid, material.grid.primary_judge
    card = material.table("judges")
    why_not = not_validated(card, grid, judge)
    rows = anchors(tables, judge, None if judge == PAPERS_JUDGE else why_not)
    predictions = grid.config.get("predictions", {})
    return pl.concat([rows, prediction_rows(predictions, tables, judge, why_not)])


def anchors(tables: Tables, judge: str, unlike: str | None = None) -> pl.DataFrame:
    """Return one row per published result, with this study's result by one judge.

    `unlike` is the reason why this judge's rates are not comparable with the paper's, or None.
    """
    seen = _rows_of_judge(tables, judge)
    rows = []
    for anchor in ANCHORS:
        result = anchor.find(seen)
        why_not = unlike if anchor.is_judged else None
        named = {name: getattr(anchor, name) for name in ("quantity", "published", "source")}
        shared = {"criterion": anchor.criterion, "refuted_if": anchor.refuted_if, "judge": judge}
        rows.append({**named, **shared, **_compared(result, why_not, OF_THE_PAPER)})
    return pl.DataFrame(rows, schema=SCHEMA)


def prediction_rows(
    predictions: Mapping[str, evidence.Prediction],
    tables: Tables,
    judge: str,
    not_shown: str | None = None,
) -> pl.DataFrame:
    """Return one row per prediction of the study.

    `not_shown` is the reason why raw rates by the judge are no findings, or None.
    """
    seen = _rows_of_judge(tables, judge)
    rows = []
    for name, one in predictions.items():
        result, region = evidence.find(seen, one), evidence.predicted(one)
        is_finding = one.get("of") == "accuracy" or result.note == evidence.CORRECTED
        rows.append(
            {
                **{"quantity": evidence.quantity(name, one), "published": region, "source": OWN},
                **_compared(result, None if is_finding else not_shown),
                **{"criterion": f"the interval lies {region}", "refuted_if": "it lies outside"},
                "judge": judge,
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA)


def _rows_of_judge(tables: Tables, judge: str) -> Tables:
    return {
        name: table.filter(pl.col("judge").is_in([judge, "verifier"]))
        if "judge" in table.columns
        else table
        for name, table in tables.items()
    }


def _compared(
    result: StudyResult, why_not: str | None, words: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the columns of a study's result and outcome, with `why_not` if not comparable."""
    row = {"this_study": result.this_study, "note": why_not or result.note}
    if why_not or result.decision is None:
        return row | {"outcome": NOT_COMPARABLE, "n_more": None}
    outcome, times = result.decision
    n_more = None
    if times is not None and result.n_items is not None:
        n_more = ceil(round(result.n_items * (times - 1), 6))
    return row | {"outcome": words.get(outcome, outcome), "n_more": n_more}


def outcome_in_words(row: Mapping[str, Any]) -> str:
    """Return the outcome in a row of the table, with the number of items that would decide it."""
    return f"{row['outcome']}, {row['n_more']:,} items more" if row["n_more"] else row["outcome"]


ABSTRACT, APPENDIX, DIGEST = "abstract", "appendix, quoted", "digest"  # where a claim was read


class Anchor(NamedTuple):
    """A published result: where it was read, what counts as agreement, and how to find ours."""

    quantity: str  # what was published, in words
    published: str  # its value or direction, in words
    source: str  # where it was read
    criterion: str  # when it is reproduced, in words
    refuted_if: str  # when it is not, in words
    find: Callable[[Tables], StudyResult]  # from a study's tables by name
    is_judged: bool = True  # whether it depends on a judge's verdicts


POINTS = f"{100 * MARGIN:g} points"
SHARE = (f"ours: the 95% interval lies within {POINTS} of the published value", "it lies outside")
RISES = "ours: both intervals are above 0", f"one is below {POINTS} and not above 0"
ANCHORS = [
    Anchor(
        "grid",
        "11 models, 5 datasets",
        ABSTRACT,
        "the same numbers",
        "never: another size is another study",
        evidence.size_of_study,
        False,
    ),
    Anchor(
        "GSM8K accuracy of Qwen3.5-0.8B",
        "41%",
        ABSTRACT,
        *SHARE,
        evidence.accuracy("qwen3.5-0.8b", 0.41, 0.005),
        False,
    ),
    Anchor(
        "GSM8K accuracy of Qwen3.5-397B-A17B",
        "96.8%",
        ABSTRACT,
        *SHARE,
        evidence.accuracy("qwen3.5-397b-a17b", 0.968, 0.0005),
        False,
    ),
    Anchor(
        "follow-up of Qwen3.5, deterministic",
        "near zero at every size",
        ABSTRACT,
        f"ours: every model's interval is below {MARGIN:.0%}",
        "one is above it",
        evidence.near_zero,
    ),
    Anchor(
        "highest follow-up of Qwen3.5 when sampled",
        "22%",
        ABSTRACT,
        f"{SHARE[0]}; it is one of the highest of all cells",
        SHARE[1],
        evidence.highest_when_sampled,
    ),
    Anchor(
        "follow-up over size",
        "a larger model is not always more aware",
        DIGEST,
        "ours: the greedy rate does not rise from the smallest to the largest Qwen3.5: the "
        f"interval of that rise is not above 0, and below {POINTS}",
        "it is above 0",
        evidence.larger_is_not_better,
    ),
    Anchor(
        "share of assistant_turn_restate of gpt-oss", "70.2%", APPENDIX, *SHARE, evidence.restating
    ),
    Anchor(
        "perturbations, gpt-oss",
        "both raise follow-up",
        DIGEST,
        *RISES,
        evidence.perturbations("gpt-oss", True),
    ),
    Anchor(
        "perturbations, GLM",
        "both raise follow-up",
        DIGEST,
        *RISES,
        evidence.perturbations("glm", True),
    ),
    Anchor(
        "perturbations, Qwen3.5",
        "neither raises follow-up",
        DIGEST,
        f"ours: no interval is above 0, and both are below {POINTS}",
        "one is above 0",
        evidence.perturbations("qwen3.5", False),
    ),
    Anchor(
        "post-training of Qwen3.5-2B",
        "SFT and RL raise follow-up",
        DIGEST,
        *RISES,
        evidence.post_training,
    ),
]


LAYOUT = Layout(
    "Predictions: the paper's, and this study's own",
    {},
    (
        *texts("quantity"),
        column("predicted", "text", "published"),
        column("read in", "text", "source"),
        *texts("this_study", "outcome"),
        column("items more", "count", "n_more"),
        printed_only("judge", "text"),
        column("reproduced if", "text", "criterion"),
        column("refuted if", "text", "refuted_if"),
        *texts("note"),
        *reported(*texts("judge")),
    ),
)
