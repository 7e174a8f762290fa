"""Table `rates`: the share of genuine turns, and of each label, in cells and over cells."""

from collections.abc import Mapping

import polars as pl

from userturn.endpoints.http_replies import REFUSED
from userturn.judges.judge import scan_verdicts
from userturn.judges.verdict import GENUINE
from userturn.storage.table_files import CELL_KEYS, JUDGED_CELL_KEYS, Schema
from userturn.study.cells import ALL
from userturn.tables.accuracy import cut_answers
from userturn.tables.chance_floor import FLOOR, chance_floors
from userturn.tables.corrected_rates import (
    CORRECTED,
    add_corrected,
    corrected_rate_columns,
    domains_of,
)
from userturn.tables.corrected_rates import MEANINGS as OF_CORRECTED
from userturn.tables.layout import (
    BOUNDS,
    INTERVAL,
    LOWEST,
    OVER_DATASETS,
    SCORED,
    Layout,
    column,
    limited,
    printed_only,
    reported,
    texts,
)
from userturn.tables.layout import GENUINE as SHARE
from userturn.tables.make_tables import Material
from userturn.tables.parts_of_cells import BY_LANGUAGE, BY_TURN, parts_of_cells
from userturn.tables.repeated_texts import COPIED, COPIES_SHOWN, OF_COPIES, distinct_text_rates
from userturn.tables.turn_rates import (
    AVERAGES,
    CELL,
    GROUP,
    LABEL,
    LENIENT,
    RATE_SCHEMA,
    SCOPES,
    STRICT_AND_LENIENT,
    add_lenient_rates,
    count_lenient,
    labels_of,
    pool_scopes,
)
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate",
    place=10,
    row="a label in a cell, a part of one, a model over datasets, or a family, by a judge",
    made_of=(
        "user_turns",
        "verdicts",
        "answers",
        "rubric",
        "families",
        "judges",
        "swapped_verdicts",
        "unswapped_verdicts",
        "annotations",
        "round_keys",
        "conversation_verdicts",
        "turn_languages",
        "copies",
    ),
    settings=("thresholds",),
    formats=(".parquet", ".csv", ".md", ".tex"),
    version=9,
)
MEANINGS = {
    "scope": f"cell; {BY_TURN}; {BY_LANGUAGE}; model (over datasets); family and dataset; family",
    "group": (
        "of a part of a cell: the number of the user turn, from 1, that the model answers before "
        "it is probed; or the language of the prompt, null where it cannot be told"
    ),
    "label": f"label of the rubric; the rows of {GENUINE} are the rates of genuine turns",
    "estimate": "share of the label among scored turns",
    "lenient": (
        "share of turns that are clearly or arguably genuine, while `estimate` is of those that "
        "clearly are: what the rubric leaves open lies between; by rubric 1 they are equal"
    ),
    "n_answers": (
        "answers that the turns follow; like the other outcomes of turns only in the rows of "
        f"{GENUINE}"
    ),
    "n_judged_again": "turns that were judged again after another item's answer; cells and models",
    "n_scored_again": "of which have a label then",
    "floor": "share of genuine turns among those judged again, weighted to stand for all of a cell",
    "above_floor": "estimate less floor: at most the share that reacts (when: docs/measured.md)",
    "reacts": "share of turns that react, above_floor / (the judge's sensitivity - floor)",
    "floor_reason": "why there is no floor",
    "reacts_reason": "why there is no share that reacts",
    "n_answers_cut": "of which cut at the token limit: the turns after them react to half a text",
    "corrected": "rate corrected by people's labels",
    **OF_CORRECTED,
    **OF_COPIES,
}
OUTCOMES: Schema = {
    f"n_{kind}": pl.Int64
    for kind in ("ok", "empty", "error", "truncated", "refused", "answers", "answers_cut")
}
SCHEMA: Schema = (
    dict.fromkeys([*GROUP, "group", "label", "paper"], pl.String)
    | {"temperature": pl.Float64}
    | RATE_SCHEMA
    | LENIENT
    | OUTCOMES
    | FLOOR
    | COPIED
    | CORRECTED
)
OF_TURNS = (  # rows that are of all genuine turns of a cell, or of a model
    pl.col("scope").is_in([CELL, "model"])
    & (pl.col("label") == GENUINE)
    & (pl.col("average") == AVERAGES[0])
)


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    outcomes = outcomes_of(
        pl.scan_parquet(list(material.paths["user_turns"])),
        scan_verdicts(material.paths["verdicts"]),
        material.answers,
    )
    counted = rates(material.items_by_label, outcomes, material.rubric.paper)
    floored = add_turn_columns(counted, chance_floors(material), FLOOR)
    floored = add_turn_columns(floored, distinct_text_rates(material), COPIED)
    whole = add_corrected(floored, domains_of(material), OF_TURNS, corrected_rate_columns)
    together = pl.concat([whole, *parts_of_cells(material)], how="diagonal_relaxed")
    rows = together.select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    number = pl.col("group").cast(pl.Int64, strict=False)
    return rows.sort(*GROUP, number, "group", "label", "average")


def outcomes_of(turns: pl.LazyFrame, verdicts: pl.LazyFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Return per cell and judge the number of turns of each outcome, and of answers before them."""
    kinds = {kind: pl.col("outcome") == kind for kind in ("ok", "empty", "error")}
    kinds["truncated"] = pl.col("finish_reason") == "length"
    counts = {f"n_{kind}": is_kind.sum().cast(pl.Int64) for kind, is_kind in kinds.items()}
    cells = turns.group_by(CELL_KEYS).agg(**counts)
    refused = pl.col("unscored_reason").cast(pl.String).str.contains(REFUSED, literal=True)
    judged = verdicts.group_by(JUDGED_CELL_KEYS).agg(n_refused=refused.sum().cast(pl.Int64))
    both = judged.join(cells, on=CELL_KEYS, how="left").collect(engine="streaming")
    return both.join(cut_answers(answers), on=["model", "dataset"], how="left")


def rates(
    items: pl.DataFrame, outcomes: pl.DataFrame, paper: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Return the share of each label among the scored turns of cells, models and families.

    `paper` has the paper's name for the turns of a label.
    """
    of_genuine = add_lenient_rates(pool_scopes(count_lenient(items), STRICT_AND_LENIENT, SCOPES))
    labels = [LABEL + label for label in labels_of(items) if label != GENUINE]
    of_labels = pool_scopes(items, labels, SCOPES, AVERAGES[:1])
    label = pl.col("counted").str.strip_prefix(LABEL).replace("n_genuine", GENUINE)
    named = label.replace_strict(paper or {}, default=None, return_dtype=pl.String)
    every = pl.lit(ALL).alias("group")
    shares = pl.concat([of_genuine, of_labels], how="diagonal").with_columns(
        every, label=label, paper=named
    )
    families = items.select(pl.col("model", "family").cast(pl.String)).unique()
    summed = _scoped_outcomes(outcomes.join(families, on="model")).with_columns(
        label=pl.lit(GENUINE)
    )
    joined = shares.join(summed, on=[*GROUP, "label"], how="left")
    later = [
        pl.lit(None, dtype).alias(name) for name, dtype in (FLOOR | COPIED | CORRECTED).items()
    ]
    return joined.with_columns(later).select(list(SCHEMA)).sort(*GROUP, "label", "average")


def add_turn_columns(rates: pl.DataFrame, more: pl.DataFrame, columns: Schema) -> pl.DataFrame:
    """Return the rates with columns of another table, null except in the rows `OF_TURNS`."""
    of = [pl.when(OF_TURNS).then(name).alias(name) for name in columns]
    bare = rates.drop(list(columns))
    joined = bare.join(more, on=JUDGED_CELL_KEYS, how="left", maintain_order="left")
    return joined.with_columns(of).select(rates.columns)


def _scoped_outcomes(outcomes: pl.DataFrame) -> pl.DataFrame:
    tables = []
    for scope, of in SCOPES.items():
        by = [*of, "temperature", "perturbation", "judge"]
        added = outcomes.group_by(by).agg(pl.col(list(OUTCOMES)).sum())
        pooled = {name: pl.lit(ALL) for name in ("model", "dataset") if name not in by}
        tables.append(added.with_columns(**pooled, scope=pl.lit(scope)).select(*GROUP, *OUTCOMES))
    return pl.concat(tables)


def cell_rates(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the rates of genuine turns of cells, in all formats."""
    return rates.filter(scope=CELL, label=GENUINE)


def model_rates(rates: pl.DataFrame) -> pl.DataFrame:
    """Return the rates of genuine turns of models over all turns of their datasets."""
    of_model = pl.col("scope") == "model", pl.col("average") == AVERAGES[0]
    return rates.filter(*of_model, pl.col("label") == GENUINE)


OF_GENUINE = {"label": GENUINE}
LENIENTLY = column("clearly or arguably", "share", *LENIENT)
LAYOUT = (
    Layout(
        "Follow-up rates over all datasets",
        OVER_DATASETS | OF_GENUINE | {"scope": "model"},
        (
            *texts("family", "model", "temperature", "judge"),
            printed_only("scored", "count", "n_scored"),
            *reported(*texts("average")),
            SHARE._replace(printed="{} %"),
            *reported(LENIENTLY, SCORED, *COPIES_SHOWN, BOUNDS),
        ),
        printed=OVER_DATASETS | OF_GENUINE,
        spread=("average", *AVERAGES),
    ),
    Layout(
        "What the user turns are",
        OVER_DATASETS | {"temperature": LOWEST, "average": AVERAGES[0]},
        (
            *texts("family", "model", "judge"),
            printed_only("scored", "count", "n_scored"),
            *reported(*texts("label"), column("in the paper", "text", "paper")),
            column("share", "share", "estimate", *INTERVAL, printed="{} %"),
            *reported(column("turns", "of", "n_positive", "n_scored")),
        ),
        spread=("label",),
        about="Shares of the labels at the lowest temperature, over all datasets.",
    ),
    Layout(
        "Chance floor: the same turns after another item's answer",
        OF_GENUINE | {"scope": (CELL, "model"), "average": AVERAGES[0]},
        reported(
            *texts("model", "dataset", "temperature", "perturbation", "judge"),
            SHARE,
            limited("floor", "share", "floor"),
            limited("above the floor", "change", "above_floor"),
            limited("share that reacts", "share", "reacts"),
            column("judged twice", "of", "n_scored_again", "n_judged_again"),
            column("no floor", "text", "floor_reason"),
            column("no share", "text", "reacts_reason"),
        ),
        about=(
            "The same user turns, judged after their own answer and after another item's. The "
            "second share is the floor: what a judge calls genuine of turns that cannot react to "
            "the answer. What is above it reacts at least, since a judge misses some of these; "
            "where people's labels say how many, the share that reacts is given."
        ),
    ),
    Layout(
        "Every cell",
        OF_GENUINE | {"scope": CELL},
        reported(
            *texts("model", "dataset", "temperature", "perturbation", "judge"),
            SHARE,
            LENIENTLY,
            SCORED,
            *COPIES_SHOWN,
            BOUNDS,
            column("cut turns", "of", "n_truncated", "n_turns"),
            column("cut answers before them", "of", "n_answers_cut", "n_answers"),
            *texts("reason"),
        ),
        about="The same cells as in the explorer.",
    ),
    Layout(
        "After each turn of real conversations",
        {"scope": BY_TURN},
        reported(
            *texts("model", "dataset", "temperature", "perturbation", "judge"),
            column("turn", "text", "group"),
            column("conversations", "count", "n_items"),
            SHARE,
            LENIENTLY,
            SCORED,
            BOUNDS,
        ),
        about=(
            "Genuine follow-ups after the k-th user message of real conversations, with the real "
            "conversation before it and the model's own answer to it. Later turns are of fewer "
            "and other conversations; the contrasts have the change in those that have both."
        ),
    ),
    Layout(
        "By the language of the prompt",
        {"scope": BY_LANGUAGE},
        reported(
            *texts("model", "dataset", "temperature", "perturbation", "judge"),
            column("language", "text", "group"),
            SHARE,
            LENIENTLY,
            SCORED,
            BOUNDS,
            *texts("reason"),
            limited("corrected by people", "share", "corrected"),
        ),
        about=(
            "A judge whose rules know only English has no rate in other languages. What is known "
            "of a judge in a language is in the table `judges`, by language."
        ),
    ),
    Layout(
        "Rates corrected by people's labels",
        OF_GENUINE | {"scope": (CELL, "model"), "average": AVERAGES[0]},
        reported(
            *texts("model", "dataset", "temperature", "perturbation", "judge"),
            SHARE._replace(heading="by the judge"),
            limited("corrected", "share", "corrected"),
            column("labelled", "of", "n_labelled", "n_turns_drawn_from"),
            column("none", "text", "corrected_reason"),
        ),
        about=(
            "What people would find in all turns, by their labels of the drawn ones. It is a "
            "finding however poor the judge is, and its upper limit says what the rate is below."
        ),
    ),
)
