"""Table `gain_auc`: does the gain tell the turns that a judge, or people, call genuine?"""

from typing import Any

import polars as pl

from userturn.humans.labels import NO_LABELS, PEOPLE
from userturn.humans.rater_pairs import PEOPLE_GENUINE
from userturn.judges.verdict import GENUINE
from userturn.likelihood.gains import turn_gains
from userturn.sources.scores import OWN_TURNS
from userturn.stats.auc import clustered_auc
from userturn.storage.key_columns import TURN_KEYS
from userturn.storage.parquet import Schema
from userturn.tables.layout import INTERVAL, TEMPERATURE, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_likelihood",
    place=160,
    row="a judge, or people, model and temperature",
    made_of=("scores", "user_turns", "verdicts", "annotations", "round_keys"),
    settings=("families",),
    needs="scores",
)
MEANINGS = {
    "estimate": ("chance that a genuine turn has a larger gain than another turn, in nats a token"),
    "n_genuine": "turns with a gain that the rater calls genuine",
    "reason": "why there is no estimate",
}
SCHEMA: Schema = {
    "rater": pl.String,
    "model": pl.String,
    "temperature": pl.Float64,
    "n_genuine": pl.Int64,
    "n_not_genuine": pl.Int64,
    "n_conversations": pl.Int64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "reason": pl.String,
}
PLACE = ["rater", "model", "temperature"]
NOT_BOTH = "not both genuine and other turns among the scored ones"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    paths = [path for path in material.paths["scores"] if path.endswith(f"{OWN_TURNS}.parquet")]
    if not paths:
        return pl.DataFrame(schema=SCHEMA)
    gains = pl.concat([turn_gains(pl.read_parquet(path)) for path in sorted(paths)])
    verdicts = material.read("verdicts", [*TURN_KEYS, "judge", "genuine"])
    people, _ = material.labelled
    label = pl.col(PEOPLE_GENUINE)
    said = people.drop_nulls(PEOPLE_GENUINE).select(
        pl.col(TURN_KEYS), rater=pl.lit(PEOPLE), genuine=label == GENUINE
    )
    return areas(gains, pl.concat([verdicts.rename({"judge": "rater"}).select(said.columns), said]))


def areas(gains: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return the area under the curve of the gain, for each rater, model and temperature.

    Turns of all datasets and perturbations are together; the gain is in nats a token.

    Args:
        gains: one row per turn (`likelihood.gains.turn_gains`).
        labels: one row per turn and rater: key columns, `rater` and `genuine`, null if unscored.
    """
    value = pl.col("gain_answer") / pl.col("n_tokens")
    valued = gains.with_columns(value=value).drop_nulls("value")
    seen = valued.join(labels.drop_nulls("genuine"), on=TURN_KEYS).sort(*PLACE, *TURN_KEYS)
    rows = [_row(group) for group in seen.partition_by(PLACE, maintain_order=True)]
    if PEOPLE not in labels["rater"]:
        rows.append({"rater": PEOPLE, "reason": NO_LABELS})
    return pl.DataFrame(rows, schema=SCHEMA)


def _row(turns: pl.DataFrame) -> dict[str, Any]:
    found = clustered_auc(turns["value"], turns["genuine"], turns["conversation"].to_list())
    n_genuine = int(turns["genuine"].sum())
    return {
        **turns.select(PLACE).row(0, named=True),
        "n_genuine": n_genuine,
        "n_not_genuine": turns.height - n_genuine,
        "n_conversations": turns["conversation"].n_unique(),
        **found._asdict(),
        "reason": NOT_BOTH if found.estimate is None else None,
    }


LAYOUT = Layout(
    "The models' own turns: does the gain tell the genuine ones?",
    {},
    (
        *texts("rater", "model"),
        TEMPERATURE,
        column("area under the curve", "number", "estimate", *INTERVAL),
        column("genuine", "count", "n_genuine"),
        column("not genuine", "count", "n_not_genuine"),
        *texts("reason"),
    ),
)
