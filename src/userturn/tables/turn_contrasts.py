"""Contrasts of a later user turn of conversations with the first, in the conversations of both."""

import polars as pl

from userturn.datasets.clusters import clusters
from userturn.datasets.turns import turn_numbers
from userturn.judges.judge_cell import scan_verdicts
from userturn.prompts.perturbations import controls_of
from userturn.storage.table_files import JUDGED_CELL_KEYS, JUDGED_ITEM_KEYS
from userturn.tables.compared_conditions import ADJUSTED_SCHEMA, adjusted, compare
from userturn.tables.item_pairs import pairs
from userturn.tables.make_tables import Material

FACTOR = "turn"


def turn_contrasts(material: Material) -> pl.DataFrame:
    """Return the contrasts of turns of a study; none without datasets of several turns."""
    if not (paths := material.paths.get("conversation_verdicts")):
        return pl.DataFrame(schema=ADJUSTED_SCHEMA)
    scored = scan_verdicts(paths).select(*JUDGED_CELL_KEYS, "item", "sample", "genuine").collect()
    members = material.table("families").select("model", "family")
    paired = since_the_first(scored.join(members, on="model"))
    return adjusted(compare(paired), controls_of(material.grid.perturbations))


def since_the_first(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Pair each later turn of a conversation with its dataset's first, where both were scored.

    Not every conversation has a later turn, so rates of two turns are of different conversations,
    and their difference is not what a turn changes: both rates here are of the shared ones.

    Args:
        verdicts: one row per judged turn, with `item`, `sample`, `genuine` and `family`.
    """
    turns = verdicts.with_columns(clusters(), turn=turn_numbers()).drop_nulls(FACTOR)
    counted = turns.group_by(*JUDGED_ITEM_KEYS, "family", FACTOR).agg(
        n_turns=pl.len().cast(pl.Int64),
        n_scored=pl.col("genuine").count().cast(pl.Int64),
        n_genuine=pl.col("genuine").sum().cast(pl.Int64),
        first=pl.col("genuine").sort_by("sample").first(),
    )
    ordered = counted.sort(*JUDGED_ITEM_KEYS, FACTOR)
    found = [
        pairs(turns_of_one, FACTOR, turns_of_one[FACTOR].min(), JUDGED_ITEM_KEYS)
        for turns_of_one in ordered.partition_by("dataset")
    ]
    none = pairs(ordered.clear(), FACTOR, 1, JUDGED_ITEM_KEYS)
    return pl.concat([none, *found]).filter(pl.col("change").is_not_null())
