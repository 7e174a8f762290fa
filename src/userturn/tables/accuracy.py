"""Table `accuracy`: each model's share of correct answers to each dataset."""

import polars as pl

from userturn.datasets.turns import clusters
from userturn.grading.grade import mean_score
from userturn.storage.table_files import Schema
from userturn.tables.layout import INTERVAL, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import rate_over
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate_accuracy",
    place=20,
    row="a model and dataset",
    made_of=("grades", "answers", "copies"),
)
MEANINGS = {"n_items": "answers", "estimate": "n_correct / n_graded"}
SCHEMA: Schema = {
    "model": pl.String,
    "dataset": pl.String,
    **dict.fromkeys(("n_items", "n_graded", "n_correct", "n_undecided"), pl.UInt32),
    "n_answers_cut": pl.Int64,
    "n_graded_loose": pl.UInt32,
    "n_correct_loose": pl.UInt32,
    **dict.fromkeys(("mean_score", "estimate", "lower", "upper", "estimate_loose"), pl.Float64),
    **dict.fromkeys(("lower_loose", "upper_loose"), pl.Float64),
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return accuracy(material.grades, material.answers)


def accuracy(grades: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Return per model and dataset the counts of graded, correct and undecided answers, and rates.

    The columns `..._loose` use the verifier's loose reading, and are null for verifiers without
    one. `mean_score` is a rubric's mean score, clipped to [0, 1], and null for other verifiers.
    `n_answers_cut` counts the answers that ended at the token limit, graded or not.
    """
    counts = grades.group_by("model", "dataset", maintain_order=True).agg(
        n_items=pl.len(),
        n_graded=pl.col("correct").count(),
        n_correct=pl.col("correct").sum(),
        n_undecided=pl.col("correct").null_count(),
        n_graded_loose=pl.col("correct_loose").count(),
        n_correct_loose=pl.col("correct_loose").sum(),
        scores=pl.col("score").drop_nulls(),
    )
    strict, loose = (_interval_columns(grades, ending) for ending in ("", "_loose"))
    means = [mean_score(scores) for scores in counts["scores"].to_list()]
    means_of_rubrics = pl.Series("mean_score", means, dtype=pl.Float64)
    cut = cut_answers(answers).drop("n_answers")
    table = counts.with_columns(means_of_rubrics, *strict, *loose)
    beside = table.join(cut, on=["model", "dataset"], how="left", maintain_order="left")
    return beside.select(list(SCHEMA))


def _interval_columns(grades: pl.DataFrame, ending: str) -> list[pl.Series]:
    clustered = grades.with_columns(clusters())
    answers = clustered.partition_by("model", "dataset", maintain_order=True)
    intervals = [rate_over(part, ["item"], f"correct{ending}")[0] for part in answers]
    return [
        pl.Series(name + ending, [getattr(i, name) for i in intervals], dtype=pl.Float64)
        for name in ("estimate", "lower", "upper")
    ]


def cut_answers(answers: pl.DataFrame) -> pl.DataFrame:
    """Return per model and dataset the number of answers, and of those cut at the token limit."""
    is_cut = (pl.col("finish_reason") == "length").fill_null(value=False)
    return answers.group_by("model", "dataset", maintain_order=True).agg(
        n_answers=pl.len().cast(pl.Int64), n_answers_cut=is_cut.sum().cast(pl.Int64)
    )


LAYOUT = Layout(
    "Task accuracy",
    {},
    (
        *texts("model", "dataset"),
        column("right", "share", "estimate", *INTERVAL),
        column("graded", "of", "n_graded", "n_items"),
        column("answers cut at the token limit", "of", "n_answers_cut", "n_items"),
    ),
)
