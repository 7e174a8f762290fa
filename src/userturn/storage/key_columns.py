"""The columns that together identify a row, for each kind of row that a study stores."""

ITEM_KEYS = ["dataset", "item"]
ANSWER_KEYS = ["model", *ITEM_KEYS]
CELL_KEYS = ["model", "dataset", "temperature", "perturbation"]
TURN_KEYS = [*CELL_KEYS, "item", "sample"]
STRATUM_KEYS = [*CELL_KEYS, "stratum"]
JUDGED_CELL_KEYS = [*CELL_KEYS, "judge"]
JUDGED_ITEM_KEYS = [*JUDGED_CELL_KEYS, "item"]
