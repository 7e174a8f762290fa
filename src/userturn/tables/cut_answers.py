"""Count answers that ended at the token limit, an unintended truncation."""

import polars as pl


def cut_answers(answers: pl.DataFrame) -> pl.DataFrame:
    """Return the number of answers of each model to each dataset, and how many were cut.

    Args:
        answers: columns `model`, `dataset` and `finish_reason`, one row per answer.
    """
    is_cut = (pl.col("finish_reason") == "length").fill_null(value=False)
    return answers.group_by("model", "dataset", maintain_order=True).agg(
        n_answers=pl.len().cast(pl.Int64), n_answers_cut=is_cut.sum().cast(pl.Int64)
    )
