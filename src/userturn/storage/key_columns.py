"""The columns that together identify a row, for each kind of row that a study stores."""

import polars as pl

ITEM_KEYS = ["dataset", "item"]
ANSWER_KEYS = ["model", *ITEM_KEYS]
CELL_KEYS = ["model", "dataset", "temperature", "perturbation"]
TURN_KEYS = [*CELL_KEYS, "item", "sample"]
STRATUM_KEYS = [*CELL_KEYS, "stratum"]
JUDGED_CELL_KEYS = [*CELL_KEYS, "judge"]
JUDGED_ITEM_KEYS = [*JUDGED_CELL_KEYS, "item"]

# Their types, for the beginning of schemas.
CELL_COLUMNS = {
    "model": pl.String,
    "dataset": pl.String,
    "temperature": pl.Float64,
    "perturbation": pl.String,
}
TURN_COLUMNS = CELL_COLUMNS | {"item": pl.String, "sample": pl.Int64}
JUDGED_CELL_COLUMNS = CELL_COLUMNS | {"judge": pl.String}
