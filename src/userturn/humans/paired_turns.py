"""The model's turns that can stand beside a person's: written after the same answer, and finished.

A turn that was cut at the token limit shows who wrote it, and one that says the same as the person
leaves nothing to choose. Such turns are counted and never drawn.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from userturn.datasets.messages import answer_to, opening
from userturn.humans.blinding import neutral
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import ITEM_KEYS, TURN_COLUMNS, TURN_KEYS, Schema

FAILED, CUT, SAME = "failed", "cut", "same"  # why a turn is left out
PAIRED_SCHEMA: Schema = {
    **TURN_COLUMNS,
    "key": pl.String,
    "conversation": pl.String,
    "left_out": pl.String,
}
TURNS_SCHEMA: Schema = {
    **TURN_COLUMNS,
    **dict.fromkeys(("key", "outcome", "finish_reason", "answer", "text"), pl.String),
}
PEOPLE_SCHEMA: Schema = {
    **dict.fromkeys(("dataset", "item", "conversation", "reference_user_turn"), pl.String),
    "messages": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
}
COLUMNS = ["item", "messages", "reference_context", "reference_user_turn"]


def people_turns(paths_to_datasets: Sequence[str]) -> pl.DataFrame:
    """Return what people wrote after the datasets' own answers, one row per item that has it.

    `conversation` is the same for all items that begin with the same user message, in any dataset:
    what a person wrote after one of them may be part of another.
    """
    rows = []
    for path in paths_to_datasets:
        for row in pl.read_parquet(path, columns=COLUMNS).iter_rows(named=True):
            messages, said = row["messages"], row["reference_user_turn"]
            if said and said.strip() and answer_to(messages, row["reference_context"]) is not None:
                rows.append(
                    {
                        "dataset": Path(path).stem,
                        "item": row["item"],
                        "conversation": fingerprint(opening(messages))[:16],
                        "reference_user_turn": said,
                        "messages": messages,
                    }
                )
    return pl.DataFrame(rows, schema=PEOPLE_SCHEMA)


def paired_turns(turns: pl.DataFrame, people: pl.DataFrame, tokens: Sequence[str]) -> pl.DataFrame:
    """Return the model's turns after an answer to which a person replied, sorted.

    Args:
        turns: user turns after the datasets' own answers.
        people: the result of `people_turns`.
        tokens: special tokens of the models, which annotators do not see.

    Returns:
        The columns of PAIRED_SCHEMA; `left_out` says why a turn can be in no pair, null if it can.
    """
    both = turns.join(people.drop("messages"), on=ITEM_KEYS).sort(TURN_KEYS)
    texts = [
        [" ".join(neutral(text or "", tokens, is_turn=True).split()) for text in both[name]]
        for name in ("text", "reference_user_turn")
    ]
    model, person = (pl.Series(values, dtype=pl.String) for values in texts)
    left_out = (
        pl.when((pl.col("outcome") != "ok") | (model == ""))
        .then(pl.lit(FAILED))
        .when(pl.col("finish_reason") == "length")
        .then(pl.lit(CUT))
        .when(model == person)
        .then(pl.lit(SAME))
    )
    return both.with_columns(left_out=left_out).select(
        pl.col(name).cast(kind) for name, kind in PAIRED_SCHEMA.items()
    )
