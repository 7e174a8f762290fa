"""Table `disagreements`: the turns that people and judges label differently, with their texts."""

from collections.abc import Sequence

import polars as pl

from userturn.humans.labels import PEOPLE
from userturn.humans.rounds import ITEMS_SCHEMA
from userturn.judges.verdict import GENUINE
from userturn.storage.key_columns import TURN_KEYS
from userturn.storage.parquet import Schema, read_tables
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="compare_with_people",
    place=350,
    row="a turn that a judge and people label differently",
    made_of=("user_turns", "verdicts", "annotations", "round_keys", "blind"),
    settings=("families", "private_datasets"),
)
SCHEMA: Schema = {
    **dict.fromkeys(("round", "id", "family", "model", "dataset"), pl.String),
    "temperature": pl.Float64,
    "perturbation": pl.String,
    "item": pl.String,
    "sample": pl.Int64,
    **dict.fromkeys(("judge", "judge_label", "people_label"), pl.String),
    "differ_in_genuine": pl.Boolean,
    **dict.fromkeys(("labels", "rationale", "conversation", "turn", "reason"), pl.String),
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    labelled, _ = material.labelled
    seen = read_tables(material.paths["blind"], ITEMS_SCHEMA)
    return disagreements(labelled, material.verdicts, seen, material.humans.private)


def disagreements(
    labelled: pl.DataFrame, verdicts: pl.DataFrame, items: pl.DataFrame, private: Sequence[str]
) -> pl.DataFrame:
    """Return the turns that people and a judge, or people among themselves, label differently.

    Args:
        labelled: the turns that people labelled, as `labelled_beside_judges` returns them.
        verdicts: verdicts of all judges.
        items: the items that annotators saw.
        private: datasets whose texts are left out.
    """
    message = pl.element().struct
    told = pl.col("conversation").list.eval(
        pl.format("{}: {}", message.field("role"), message.field("text"))
    )
    texts = items.select("id", "turn", conversation=told.list.join("\n\n"))
    is_private = pl.col("dataset").is_in(list(private))
    people_say = pl.col("people_label") == GENUINE
    table = (
        labelled.drop("judge")
        .rename({PEOPLE: "people_label"})
        .join(verdicts.rename({"label": "judge_label"}), on=TURN_KEYS)
        .filter(~pl.col("judge_label").eq_missing(pl.col("people_label")))
        .join(texts, on="id", how="left")
        .with_columns(
            differ_in_genuine=people_say != pl.col("genuine"),
            reason=pl.when(pl.col("people_label").is_null()).then(pl.lit("people differ")),
        )
        .with_columns(pl.when(~is_private).then(pl.col("conversation", "turn", "rationale")))
    )
    return table.select(pl.col(n).cast(t) for n, t in SCHEMA.items()).sort(
        "differ_in_genuine", "judge", "round", "id", descending=[True, False, False, False]
    )
