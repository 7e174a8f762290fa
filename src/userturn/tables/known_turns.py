"""Turns whose kind is known, with each judge's label.

They are human follow-ups, planted failures (copies and fixed texts, hard ones, injections), the
project's own labelled turns, and turns of the study that people labelled.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from userturn.controls.control_turn import HUMAN, LABELS, SOURCES
from userturn.datasets.turns import clusters
from userturn.humans.labels import PEOPLE, PEOPLE_GENUINE, judges_of
from userturn.judges.judge import VERDICTS_SCHEMA
from userturn.judges.kinds import kind_of
from userturn.judges.verdict import GENUINE
from userturn.storage.table_files import ANSWER_KEYS, Schema
from userturn.study.contents import LABELLED
from userturn.tables.make_tables import Material

# The columns of a turn of known kind: its source, its true label, the judge's, and its weight.
TURN: Schema = {
    **dict.fromkeys(("judge", "source", "cluster", "truth", "label", "kind", "length"), pl.String),
    **dict.fromkeys(("language", "temperature", "dataset"), pl.String),
    "weight": pl.Float64,  # how many turns of the study it represents
    "probability": pl.Float64,  # that it is genuine, by a judge that says so
}


def known_turns(material: Material) -> pl.DataFrame:
    """Return all turns of known kind of a study, one row per turn and judge."""
    labelled, _ = material.labelled
    # A bare thanks follows each conversation with an injection.
    injected = _verdicts(material, "injected_verdicts").with_columns(
        conversation=pl.col("item"), language=pl.lit("en")
    )
    parts = [add_kinds(control_verdicts(material)), add_kinds(injected), _labelled_turns(material)]
    return pl.concat([*parts, peoples_turns(labelled)])


def _verdicts(material: Material, name: str) -> pl.DataFrame:
    """Return the verdicts of a source, with probabilities from the judges that give some."""
    tables = [pl.read_parquet(path) for path in sorted(material.paths.get(name, []))]
    return pl.concat([pl.DataFrame(schema=VERDICTS_SCHEMA), *tables], how="diagonal")


def lengths(texts: pl.Expr) -> pl.Expr:
    """Return the length bins of texts."""
    n = texts.fill_null("").str.len_chars()
    long = pl.when(n <= 120).then(pl.lit("31 to 120 characters"))
    short = pl.when(n <= 30).then(pl.lit("up to 30 characters"))
    return short.otherwise(long.otherwise(pl.lit("over 120 characters")))


def turns_of(verdicts: pl.DataFrame, **columns: pl.Expr) -> pl.DataFrame:
    """Return verdicts as turns of known kind: columns not given are null, and each weight is 1."""
    own = {name: pl.col(name) for name in ("judge", "label")}
    nothing = {name: pl.lit(None) for name in TURN} | {"weight": pl.lit(1.0)}
    if "probabilities" in verdicts.columns:
        genuine = pl.element().filter(pl.element().struct.field("label") == GENUINE)
        of = pl.col("probabilities").list.eval(genuine.struct.field("probability"))
        nothing["probability"] = of.list.first()
    joined = nothing | own | columns
    return verdicts.select(joined[name].cast(kind).alias(name) for name, kind in TURN.items())


def add_kinds(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return verdicts on controls, which name the `conversation` of each, with true labels."""
    control = pl.col("perturbation")
    return turns_of(
        verdicts,
        source=control.replace_strict(SOURCES, return_dtype=pl.String),
        cluster=pl.col("conversation"),
        truth=control.replace_strict(LABELS, return_dtype=pl.String),
        kind=control,
        language=pl.col("language"),
        dataset=pl.col("dataset"),
    )


def _labelled_turns(material: Material) -> pl.DataFrame:
    """Return the project's labelled turns, with verdicts of judges that were not tuned on them."""
    if not material.paths["labelled_verdicts"]:
        return pl.DataFrame(schema=TURN)
    items = pl.read_parquet(material.paths["labelled_items"][0])
    texts = pl.read_parquet(material.paths["labelled_turns"][0], columns=["item", "text"])
    verdicts = _verdicts(material, "labelled_verdicts")
    tuned = [n for n, entry in material.grid.judges.items() if kind_of(entry).SAW_LABELLED_TURNS]
    return add_true_labels(verdicts.filter(~pl.col("judge").is_in(tuned)), items, texts)


def add_true_labels(
    verdicts: pl.DataFrame, items: pl.DataFrame, texts: pl.DataFrame
) -> pl.DataFrame:
    """Return verdicts on the labelled turns with the turns' true labels."""
    truths = items.select("item", "conversation", "language", truth="label").join(texts, on="item")
    return turns_of(
        verdicts.join(truths, on="item", how="left", maintain_order="left"),
        source=pl.lit(LABELLED),
        cluster=pl.col("conversation"),
        truth=pl.col("truth"),
        kind=pl.col("truth"),
        length=lengths(pl.col("text")),
        language=pl.col("language"),
    )


def peoples_turns(labelled: pl.DataFrame) -> pl.DataFrame:
    """Return turns that people labelled (`labelled_beside_judges`), one row per turn and judge."""
    seen = labelled.filter(pl.col(PEOPLE_GENUINE).is_not_null())
    own = pl.col(PEOPLE)
    agrees = (own == GENUINE) == (pl.col(PEOPLE_GENUINE) == GENUINE)
    truth = pl.when(agrees).then(own).otherwise(pl.col(PEOPLE_GENUINE))
    parts = [
        turns_of(
            seen,
            judge=pl.lit(judge),
            label=pl.col(name),
            source=pl.lit(PEOPLE),
            cluster=pl.concat_str("dataset", clusters(), separator="\n"),
            truth=truth,
            kind=truth,
            temperature=pl.col("temperature"),
            dataset=pl.col("dataset"),
            weight=pl.col("weight"),
        )
        for name, judge in judges_of(seen).items()
    ]
    return pl.concat([pl.DataFrame(schema=TURN), *parts])


def control_verdicts(material: Material) -> pl.DataFrame:
    """Return all judges' verdicts on controls that are no injections, with their conversations.

    Human replies in one tree belong to one conversation. So do all failures planted in one item,
    whichever model's answer they follow.
    """
    begun = first_messages(material.paths["human_items"])
    verdicts = _verdicts(material, "control_verdicts").join(
        begun, on=ANSWER_KEYS, how="left", maintain_order="left"
    )
    begins = pl.col("conversation").fill_null(clusters())
    return verdicts.with_columns(conversation=pl.concat_str("dataset", begins, separator="\n"))


def first_messages(paths_to_items: Sequence[str]) -> pl.DataFrame:
    """Return the first user message of each item with a human turn, shared by one tree of replies.

    `language` is that of the item, or null where its dataset's entry does not tell languages apart.
    """
    by_user = pl.element().filter(pl.element().struct.field("role") == "user")
    begun = pl.col("messages").list.eval(by_user).list.first().struct.field("content")
    tables = [
        pl.read_parquet(path).select(
            "item",
            model=pl.lit(HUMAN),
            dataset=pl.lit(Path(path).stem),
            conversation=begun,
            language=pl.col("language")
            if "language" in pl.read_parquet_schema(path)
            else pl.lit(None, pl.String),
        )
        for path in paths_to_items
    ]
    schema = dict.fromkeys(["item", "model", "dataset", "conversation", "language"], pl.String)
    return pl.concat([pl.DataFrame(schema=schema), *tables])
