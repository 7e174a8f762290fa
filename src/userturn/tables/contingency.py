"""How much each model's own turns depend on the answer that they follow.

A sample is likelier after its own context by construction, so compare each row with a null: turns
written after no answer or another item's (control perturbations), and turns that a judge calls not
genuine.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from userturn.stats.clustered_means import clustered_mean
from userturn.storage.key_columns import CELL_KEYS
from userturn.study.cells import ALL
from userturn.tables.likelihood_measures import IDENTIFIED, TOKEN, identification

IDENTIFIED_ANSWER, GAIN = "identified_answer", "gain_answer"


def contingency(gains: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return the gain and identification of each cell's turns, all and by each judge's verdict.

    Args:
        gains: one row per turn (`likelihood.gains.turn_gains`).
        judged: one row per turn and judge, with `rater` and `genuine`.
    """
    everything = gains.with_columns(rater=pl.lit(ALL), turns=pl.lit(ALL))
    verdict = pl.when("genuine").then(pl.lit("genuine")).otherwise(pl.lit("not_genuine"))
    labelled = judged.drop_nulls("genuine").with_columns(turns=verdict).drop("genuine")
    together = pl.concat([everything, labelled.select(everything.columns)])
    groups = together.partition_by(*CELL_KEYS, "rater", "turns", maintain_order=True)
    rows = [row for group in groups for row in _rows(group)]
    order = [*CELL_KEYS, pl.col("rater") != ALL, "rater", "turns", "measure"]
    return pl.DataFrame(rows, infer_schema_length=None).sort(order)


def _rows(turns: pl.DataFrame) -> Iterator[dict[str, Any]]:
    seen = turns.with_columns(value=pl.col(GAIN) / pl.col("n_tokens")).drop_nulls("value")
    row = {
        **turns.select(*CELL_KEYS, "rater", "turns").row(0, named=True),
        "n_turns": turns.height,
        "n_scored": seen.height,
        "n_conversations": seen["conversation"].n_unique(),
    }
    found = identification(turns, IDENTIFIED_ANSWER, IDENTIFIED[IDENTIFIED_ANSWER])
    gain = clustered_mean(seen["value"], seen["conversation"].to_list())
    yield row | {"measure": IDENTIFIED_ANSWER, "unit": "share", **found}
    yield row | {"measure": GAIN, "unit": TOKEN, **gain._asdict()}
