"""How likely a model finds reference follow-ups: each measure with its unit."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from userturn.stats.clustered_means import clustered_mean
from userturn.tables.turn_clusters import rate_over

CHARACTER, TOKEN, WHOLE = "nats a character", "nats a token", "nats a turn"
LENGTHS = {CHARACTER: pl.col("n_characters"), TOKEN: pl.col("n_tokens"), WHOLE: pl.lit(1)}
IDENTIFIED = {"identified_answer": "n_answers", "identified_conversation": "n_conversations"}
GAINS = ("gain_answer", "gain_conversation", "gain_role", "surprisal")


def measures(turns: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows of one model and dataset, one for each measure and unit.

    Every turn counts the same: its gain over its own length, or its whole gain, which over the mean
    length is the gain of all characters together. Intervals are clustered by conversation.
    `reason` is the most frequent reason why turns have no value.
    """
    for name, n_others in IDENTIFIED.items():
        yield _row(turns, name, "share") | identification(turns, name, n_others)
    for name in GAINS:
        for unit, length in LENGTHS.items():
            values = turns.with_columns(value=pl.col(name) / length).drop_nulls("value")
            found = clustered_mean(values["value"], values["conversation"].to_list())
            yield _row(turns, name, unit) | found._asdict()


def identification(turns: pl.DataFrame, name: str, n_others: str) -> dict[str, Any]:
    """Return the share of turns that are likeliest after their own context, and that by chance."""
    seen = turns.drop_nulls(name)
    rate, _ = rate_over(seen, ["conversation"], name)
    chance = (1 / (seen[n_others] + 1)).mean() if seen.height else None
    return {**rate._asdict(), "chance": chance}


def _row(turns: pl.DataFrame, name: str, unit: str) -> dict[str, Any]:
    seen = turns.drop_nulls(name)
    reasons = (
        turns["error"].drop_nulls().value_counts().sort("count", "error", descending=[True, False])
    )
    why = reasons["error"][0] if reasons.height else None
    if why is None and seen.height < turns.height:
        why = "no other context could be scored"
    return {
        "model": turns["model"][0],
        "dataset": turns["dataset"][0],
        "measure": name,
        "unit": unit,
        "n_turns": turns.height,
        "n_scored": seen.height,
        "n_conversations": seen["conversation"].n_unique(),
        "reason": why,
    }
