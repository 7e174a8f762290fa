"""Table `likelihood`: each model's likelihood of reference follow-ups after their own answer."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from userturn.likelihood.gains import turn_gains
from userturn.sources.scores import HUMAN_TURNS
from userturn.stats.clustered_means import clustered_mean
from userturn.storage.parquet import Schema
from userturn.tables.layout import INTERVAL, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_clusters import rate_over
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_likelihood",
    place=130,
    row="a model, dataset of reference follow-ups, measure and unit",
    made_of=("scores",),
    needs="scores",
)
MEANINGS = {
    "measure": (
        "identified: likelier after its own context than after every distractor; gain: log-"
        "likelihood after its own context less that after the distractors, or under the "
        "assistant's header (role); surprisal: minus the log-likelihood after its own context"
    ),
    "estimate": "the measure, a mean over turns",
    "n_turns": "reference follow-ups",
    "n_scored": "of which the measure is known",
    "n_conversations": "conversations that they belong to",
    "reason": "why turns have no value, the most frequent reason",
}
SCHEMA: Schema = {
    "model": pl.String,
    "dataset": pl.String,
    "measure": pl.String,
    "unit": pl.String,
    "n_turns": pl.Int64,
    "n_scored": pl.Int64,
    "n_conversations": pl.Int64,
    "chance": pl.Float64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "reason": pl.String,
}
TOKEN, CHARACTER = "nats a token", "nats a character"
LENGTHS = {TOKEN: "n_tokens", CHARACTER: "n_characters"}
IDENTIFIED = {"identified_answer": "n_answers", "identified_conversation": "n_conversations"}
GAINS = ("gain_answer", "gain_conversation", "gain_role", "surprisal")


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    paths = [path for path in material.paths["scores"] if path.endswith(f"{HUMAN_TURNS}.parquet")]
    gains = [turn_gains(pl.read_parquet(path)) for path in sorted(paths)]
    rows = [row for turns in gains if turns.height for row in measures(turns)]
    return pl.DataFrame(rows, schema=SCHEMA)


def measures(turns: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows of one model and dataset, one for each measure and unit.

    Every turn counts the same, whatever its length. Intervals are clustered by conversation.
    `reason` is the most frequent reason why turns have no value.
    """
    for name, n_others in IDENTIFIED.items():
        yield _row(turns, name, "share") | identification(turns, name, n_others)
    for name in GAINS:
        for unit, length in LENGTHS.items():
            values = turns.with_columns(value=pl.col(name) / pl.col(length)).drop_nulls("value")
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


LAYOUT = Layout(
    "Reference follow-ups: how likely each model finds them",
    {},
    (
        *texts("model", "dataset", "measure", "unit"),
        column("estimate", "number", "estimate", *INTERVAL),
        column("chance", "number", "chance"),
        column("scored", "of", "n_scored", "n_turns"),
    ),
)
