"""Table `language_contrasts`: the same problems in another language and in English, paired."""

from collections.abc import Collection, Sequence

import polars as pl

from userturn.prompts.perturbations import controls_of
from userturn.storage.key_columns import ANSWER_KEYS, JUDGED_CELL_KEYS
from userturn.storage.parquet import Schema
from userturn.tables.contrasts import COMPARED_SCHEMA, SCOPES, adjusted, compare
from userturn.tables.contrasts import SCHEMA as CONTRAST_SCHEMA
from userturn.tables.item_counts import count_answers
from userturn.tables.item_pairs import PAIRED, pairs, shares
from userturn.tables.judge_languages import ENGLISH, ENGLISH_ONLY, english_only
from userturn.tables.layout import (
    IF_UNSCORED,
    INTERVAL,
    TEMPERATURE,
    Layout,
    P,
    column,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.unscored_bounds import with_bounds
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_languages",
    place=190,
    row=(
        "a language against English in the same problems; or a judge without such contrasts, with "
        "the reason"
    ),
    made_of=("turn_languages", "verdicts", "grades", "families"),
    settings=("controls",),
    needs="turn_languages",
)
MEANINGS = {
    "factor": "language",
    "condition": "language of the prompt",
    "baseline": "English, or the first language where a study has none in English",
    "measure": "follow-up or accuracy",
    "n_items": "problems that were scored in both languages",
    "judge": "name of the judge, or `verifier` for accuracy",
    "reason": "why a judge has no contrast",
}
FACTOR = "language"
SCHEMA: Schema = {"measure": pl.String, **CONTRAST_SCHEMA, "reason": pl.String}
NO_PROBLEM = "no problem was scored in several languages"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    members = material.table("families").select("model", "family")
    controls = controls_of(material.grid.perturbations)
    told, found = material.read("turn_languages"), []
    cannot = english_only(material)
    follow_ups = scored_problems(told, material.verdicts).join(members, on="model")
    kept = follow_ups.filter(~pl.col("judge").is_in(sorted(cannot)))
    for measure, items, blocks in (
        ("follow-up", kept, [*JUDGED_CELL_KEYS, "item"]),
        (
            "accuracy",
            graded_problems(told, material.grades).join(members, on="model"),
            ["model", "dataset", "item"],
        ),
    ):
        contrasts = language_contrasts(items, blocks, controls)
        found.append(contrasts.select(pl.lit(measure).alias("measure"), pl.all()))
    whole = pl.concat(found).with_columns(reason=pl.lit(None, dtype=pl.String))
    return pl.concat([whole, without_contrast(whole, cannot, material.grid.judges)])


def _in_problems(told: pl.DataFrame) -> pl.DataFrame:
    """Return items that have a problem and a language, with `problem` as both, one below the other.

    Pairs are of one problem; before they are made, an item is a problem in a language.
    """
    known = told.drop_nulls(["problem", "prompt_language"])
    place = pl.concat_str("prompt_language", "problem", separator="\n")
    return known.with_columns(place=place)


def scored_problems(told: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return counts of verdicts by problem and language, in the form of counted items."""
    keys = ["model", "dataset", "temperature", "perturbation", "item", "sample"]
    known = _in_problems(told).select(*keys, "place")
    turns = verdicts.join(known, on=keys).sort("judge", *keys)
    return (
        turns.group_by(*JUDGED_CELL_KEYS, "place", maintain_order=True)
        .agg(
            n_turns=pl.len().cast(pl.Int64),
            n_scored=pl.col("genuine").count().cast(pl.Int64),
            n_genuine=pl.col("genuine").sum().cast(pl.Int64),
            first=pl.col("genuine").first(),
        )
        .rename({"place": "item"})
    )


def graded_problems(told: pl.DataFrame, grades: pl.DataFrame) -> pl.DataFrame:
    """Return the grades of answers by problem and language, in the form of counted items."""
    known = _in_problems(told).select(*ANSWER_KEYS, "place").unique()
    return count_answers(grades.join(known, on=ANSWER_KEYS), pl.col("place"))


def language_contrasts(
    items: pl.DataFrame, blocks: Sequence[str], controls: Sequence[str]
) -> pl.DataFrame:
    """Return the contrast of each language with English, or with the first language, by problem.

    Args:
        items: one row per problem, language, cell and judge, with `family`; `item` is the language
            and the problem, one below the other.
        blocks: the columns that two items of a pair have in common.
        controls: names of the perturbations that are controls.
    """
    languages = items["item"].str.split("\n").list.first().unique().sort().to_list()
    baseline = ENGLISH if ENGLISH in languages else next(iter(languages), ENGLISH)

    def pairing(after: pl.DataFrame, before: pl.DataFrame) -> list[pl.DataFrame]:
        split = [_with_language(part) for part in (after, before)]
        return [pairs(split[0], FACTOR, baseline, blocks, split[1])]

    seen = shares(items)
    found = [compare(part.select(PAIRED)) for part in pairing(seen, seen) if part.height]
    table = pl.concat(found) if found else pl.DataFrame(schema=COMPARED_SCHEMA)
    return adjusted(with_bounds(table, items, SCOPES, pairing), controls)


def _with_language(items: pl.DataFrame) -> pl.DataFrame:
    """Return items that are problems, with their language in a column of its own."""
    parts = pl.col("item").str.splitn("\n", 2).struct
    return items.with_columns(parts.field("field_0").alias(FACTOR), item=parts.field("field_1"))


def without_contrast(
    table: pl.DataFrame, cannot: Collection[str], judges: Collection[str]
) -> pl.DataFrame:
    """Return a row for each judge without a contrast, with the reason."""
    missing = sorted(set(judges) - set(table["judge"]))
    rows = [
        {
            "measure": "follow-up",
            "factor": FACTOR,
            "scope": "model",
            "judge": judge,
            "reason": ENGLISH_ONLY if judge in cannot else NO_PROBLEM,
        }
        for judge in missing
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


LAYOUT = Layout(
    "The same problems across languages",
    {"scope": "model"},
    (
        *texts("measure", "condition", "baseline", "model"),
        TEMPERATURE,
        *texts("perturbation", "judge"),
        column("problems", "count", "n_items"),
        column("change", "change", "difference", *INTERVAL),
        IF_UNSCORED,
        *P,
        *texts("correction", "reason"),
    ),
)
