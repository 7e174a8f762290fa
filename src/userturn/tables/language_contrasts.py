"""Contrasts of the same problems in another language and in English, paired by problem."""

from collections.abc import Collection, Sequence

import polars as pl

from userturn.prompts.perturbations import controls_of
from userturn.storage.table_files import ANSWER_KEYS, JUDGED_CELL_KEYS
from userturn.tables.compared_conditions import ADJUSTED_SCHEMA, FOLLOW_UP, adjusted, compare
from userturn.tables.item_counts import count_answers
from userturn.tables.item_pairs import pairs
from userturn.tables.judge_languages import ENGLISH, ENGLISH_ONLY, english_only
from userturn.tables.make_tables import Material

FACTOR = "language"
NO_PROBLEM = "no problem was scored in several languages"


def language_contrasts(material: Material) -> pl.DataFrame:
    """Return the contrasts of languages, of follow-ups and of accuracy; none without languages."""
    if not material.paths.get("turn_languages"):
        return pl.DataFrame(schema=ADJUSTED_SCHEMA)
    members = material.table("families").select("model", "family")
    controls = controls_of(material.grid.perturbations)
    told = material.read("turn_languages")
    cannot = english_only(material)
    scored = scored_problems(told, material.verdicts).join(members, on="model")
    graded = graded_problems(told, material.grades).join(members, on="model")
    kept = scored.filter(~pl.col("judge").is_in(sorted(cannot)))
    found = pl.concat(
        [
            between_languages(kept, [*JUDGED_CELL_KEYS, "item"], controls),
            between_languages(graded, ["model", "dataset", "item"], controls),
        ]
    )
    return without_contrast(found, cannot, material.grid.judges)


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


def between_languages(
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
    paired = pairs(_with_language(items), FACTOR, baseline, blocks)
    return adjusted(compare(paired), controls)


def _with_language(items: pl.DataFrame) -> pl.DataFrame:
    """Return items that are problems, with their language in a column of its own."""
    parts = pl.col("item").str.splitn("\n", 2).struct
    return items.with_columns(parts.field("field_0").alias(FACTOR), item=parts.field("field_1"))


def without_contrast(
    table: pl.DataFrame, cannot: Collection[str], judges: Collection[str]
) -> pl.DataFrame:
    """Return contrasts with a row for each judge that has none, with the reason."""
    missing = sorted(set(judges) - set(table["judge"]))
    place = {"measure": FOLLOW_UP, "factor": FACTOR, "scope": "model"}
    rows = [
        place | {"judge": judge, "reason": ENGLISH_ONLY if judge in cannot else NO_PROBLEM}
        for judge in missing
    ]
    return pl.concat([table, pl.DataFrame(rows, schema=ADJUSTED_SCHEMA)])
