"""Does the gain tell the turns that a judge, or people, call genuine?"""

from typing import Any

import polars as pl

from userturn.humans.labels import NO_LABELS, PEOPLE
from userturn.stats.auc import clustered_auc
from userturn.storage.key_columns import TURN_KEYS

AREA = "area"
PLACE = ["rater", "model", "temperature"]
NOT_BOTH = "not both genuine and other turns among the scored ones"


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
        rows.append({"rater": PEOPLE, "measure": AREA, "reason": NO_LABELS})
    return pl.DataFrame(rows, infer_schema_length=None)


def _row(turns: pl.DataFrame) -> dict[str, Any]:
    found = clustered_auc(turns["value"], turns["genuine"], turns["conversation"].to_list())
    n_genuine = int(turns["genuine"].sum())
    return {
        **turns.select(PLACE).row(0, named=True),
        "measure": AREA,
        "unit": "share",
        "n_genuine": n_genuine,
        "n_not_genuine": turns.height - n_genuine,
        "n_conversations": turns["conversation"].n_unique(),
        **found._asdict(),
        "reason": NOT_BOTH if found.estimate is None else None,
    }
