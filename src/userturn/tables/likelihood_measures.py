"""How likely a model finds reference follow-ups: each measure with its unit."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from userturn.generation.likelihood_contexts import ENDING
from userturn.stats.clustered_means import clustered_mean
from userturn.study.cells import ALL
from userturn.tables.turn_clusters import rate_over

CHARACTER, TOKEN, WHOLE = "nats a character", "nats a token", "nats a turn"
LENGTHS = {CHARACTER: pl.col("n_characters"), TOKEN: pl.col("n_tokens"), WHOLE: pl.lit(1)}
IDENTIFIED = {"identified_answer": "n_answers", "identified_conversation": "n_conversations"}
ENDS = "ends_at_once"
NO_ENDINGS = "not scored: `endings: true` below `likelihood` asks for it"
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


def ending(scores: pl.DataFrame) -> dict[str, Any]:
    """Return the row on how likely a turn ends at once, of the scores of a model and dataset.

    The mean over contexts of the probability of the token that ends a user turn, right after the
    user header; limits are by conversation.
    """
    scored = scores.filter(pl.col("context") == ENDING)
    value = pl.col("logprob").exp()
    seen = scored.drop_nulls("logprob").with_columns(value=value)
    estimate, lower, upper = clustered_mean(seen["value"], seen["conversation"].to_list())
    if lower is not None and upper is not None:
        lower, upper = max(0.0, lower), min(1.0, upper)
    return {
        **scores.select("model", "dataset").head(1).row(0, named=True),
        **{"measure": ENDS, "unit": "probability", "rater": ALL, "turns": ALL},
        "n_turns": scored.height,
        "n_scored": seen.height,
        "n_conversations": seen["conversation"].n_unique(),
        **{"estimate": estimate, "lower": lower, "upper": upper},
        "reason": _reason(scored) if scored.height else NO_ENDINGS,
    }


def _reason(turns: pl.DataFrame) -> str | None:
    """Return the most frequent reason why turns were not scored."""
    reasons = turns["error"].drop_nulls().value_counts()
    ordered = reasons.sort("count", "error", descending=[True, False])
    return str(ordered["error"][0]) if ordered.height else None


def _row(turns: pl.DataFrame, name: str, unit: str) -> dict[str, Any]:
    seen = turns.drop_nulls(name)
    why = _reason(turns)
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
