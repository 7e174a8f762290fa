"""Import people's labels of pairs: which of two turns a person wrote, as each annotator thinks."""

from collections.abc import Sequence

import polars as pl

from userturn.humans.import_labels import Task, checked_rows, how_to_start, with_key
from userturn.humans.label_files import Row
from userturn.humans.pairs import PAIR_KEY_SCHEMA, SIDES
from userturn.logs import say
from userturn.storage.table_files import TURN_KEYS, Schema, write_table

PAIRS = Task("pair", SIDES, "a turn of a pair")
PAIR_LABELS_SCHEMA: Schema = {
    "round": pl.String,
    "annotator": pl.String,
    "id": pl.String,
    "label": pl.String,
    "model_chosen": pl.Boolean,
    "unsure": pl.Boolean,
    "seconds": pl.Float64,
    "notes": pl.String,
    **{name: PAIR_KEY_SCHEMA[name] for name in (*TURN_KEYS, "key", "conversation")},
}


def pair_labels(rows: Sequence[Row], key: pl.DataFrame) -> pl.DataFrame:
    """Return checked rows with the turns of their pairs, sorted."""
    chosen = pl.col("label") != pl.col("person")
    return with_key(rows, key, PAIR_LABELS_SCHEMA, model_chosen=chosen)


def import_pairs(
    round_name: str,
    skip_problems: bool,
    identity: str,
    paths_to_files: Sequence[str],
    path_to_key: str,
    path_to_annotations: str,
) -> None:
    """Write the labels of one round of pairs, or nothing if a row is wrong.

    Raises:
        UserError: every problem found, one sentence per line, unless `skip_problems`.
    """
    key = pl.read_parquet(path_to_key)
    rows = checked_rows(paths_to_files, key, PAIRS, round_name, skip_problems)
    if not rows and key.height:
        say(how_to_start(round_name, key.height, PAIRS.unit, "pairs"))
    write_table(pair_labels(rows, key), path_to_annotations, identity)
