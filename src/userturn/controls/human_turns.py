"""Real user turns of a dataset, each after the answer that it reacts to."""

import polars as pl

from userturn.controls.control_turn import HUMAN, control_turn
from userturn.errors import UserError
from userturn.generation.collect import USER_TURNS_SCHEMA
from userturn.storage.table_files import write_table


def human_turns(items: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Return the real user turns of a dataset, each after the answer that it reacts to.

    Raises:
        UserError: no item ends where its reference begins.
    """
    rows = [
        control_turn(
            HUMAN, dataset, HUMAN, row["item"], row["reference_context"][-1]["content"], turn
        )
        for row in items.iter_rows(named=True)
        if (turn := row["reference_user_turn"]) and row["reference_context"][:-1] == row["messages"]
    ]
    if not rows:
        raise UserError(
            f"dataset '{dataset}' has no user turn that reacts to an answer in its data; give it "
            "`condition: gold_context`, or remove it from controls.human"
        )
    return pl.DataFrame(rows, schema=USER_TURNS_SCHEMA)


def take_human_turns(
    dataset: str, identity: str, path_to_items: str, path_to_user_turns: str
) -> None:
    """Write the real user turns of a dataset."""
    write_table(human_turns(pl.read_parquet(path_to_items), dataset), path_to_user_turns, identity)
