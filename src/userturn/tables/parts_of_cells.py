"""Parts of cells, by turns of conversations and by languages: their rates and contrasts."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import polars as pl

from userturn.datasets.turns import clusters, turn_numbers
from userturn.generation.turn_languages import FAILED
from userturn.judges.kinds import complete_judges, kind_of
from userturn.judges.verdict import ARGUABLE, GENUINE
from userturn.prompts.perturbations import controls_of
from userturn.storage.table_files import (
    ANSWER_KEYS,
    CELL_KEYS,
    JUDGED_CELL_KEYS,
    JUDGED_ITEM_KEYS,
    TURN_KEYS,
)
from userturn.tables.contrast_tests import ADJUSTED_SCHEMA, FOLLOW_UP, adjusted, compare
from userturn.tables.corrected_rates import CORRECTED, Domain, corrected_rate, sampled_and_labelled
from userturn.tables.item_pairs import Pairs, cells_of, pairs
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import (
    AVERAGES,
    LENIENT,
    RATE,
    STRICT_AND_LENIENT,
    add_lenient_rates,
    count_answers,
    pool,
)

COUNTED = {
    "n_turns": pl.len().cast(pl.Int64),
    "n_scored": pl.col("genuine").count().cast(pl.Int64),
    "n_genuine": pl.col("genuine").sum().cast(pl.Int64),
}
ENGLISH = "en"
ENGLISH_ONLY = "the judge knows only English"


def english_only(material: Material) -> set[str]:
    """Return the judges of a study whose rules know only English."""
    entries, judges = complete_judges(material.grid.config), material.grid.judges
    return {name for name in judges if kind_of(entries[name]).IS_ENGLISH_ONLY}


BY_TURN, BY_LANGUAGE = "cell and turn", "cell and language"
NOT_OF_EACH = "not every stratum of the cell has a drawn turn in this language"


def parts_of_cells(material: Material) -> list[pl.DataFrame]:
    """Return the rates of the parts of a study's cells, none without datasets that have parts."""
    members = material.table("families").select("model", "family")
    parts = []
    if material.paths.get("conversation_verdicts"):
        columns = [*JUDGED_ITEM_KEYS, "label", "genuine"]
        scored = material.read("conversation_verdicts", columns)
        parts.append(rates_of_parts(group_by_turn(scored), members, BY_TURN))
    if material.paths.get("turn_languages"):
        told = material.read("turn_languages").select(
            *TURN_KEYS, "turn_reason", group="prompt_language"
        )
        verdicts = material.verdicts.join(told, on=TURN_KEYS, maintain_order="left")
        labels = _labels(material, told.drop("turn_reason"))
        parts.append(rates_by_language(verdicts, members, english_only(material), labels))
    return parts


def group_by_turn(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return verdicts with `group`, the number of the user turn before the answer, as text."""
    return verdicts.with_columns(group=turn_numbers().cast(pl.String))


def rates_of_parts(verdicts: pl.DataFrame, members: pl.DataFrame, scope: str) -> pl.DataFrame:
    """Return the rate of genuine turns per cell, judge and value of the column `group`."""
    counts = verdicts.group_by(*JUDGED_CELL_KEYS, "group", clusters()).agg(
        **COUNTED,
        n_lenient=pl.col("label").is_in([GENUINE, ARGUABLE]).sum().cast(pl.Int64),
    )
    by = ["family", *JUDGED_CELL_KEYS, "group"]
    pooled = pool(counts.join(members, on="model"), by, STRICT_AND_LENIENT, AVERAGES[:1])
    rated = add_lenient_rates(pooled).drop("counted")
    return rated.with_columns(scope=pl.lit(scope), label=pl.lit(GENUINE))


def rates_by_language(
    verdicts: pl.DataFrame, members: pl.DataFrame, english_only: Collection[str], labels: Domain
) -> pl.DataFrame:
    """Return the rate of each cell, judge and language of the prompt, and the corrected rate.

    A judge whose rules know only English has no rate in other languages, where its verdicts say
    nothing. Verdicts and labels have the language in `group`.
    """
    by_language = rates_of_parts(verdicts, members, BY_LANGUAGE)
    cannot = pl.col("judge").is_in(sorted(english_only)) & pl.col("group").ne_missing(ENGLISH)
    columns = [pl.when(~cannot).then(name).alias(name) for name in ("n_positive", *RATE, *LENIENT)]
    why = pl.when(cannot).then(pl.lit(ENGLISH_ONLY)).otherwise("reason").alias("reason")
    by_language = by_language.with_columns(*columns, why)
    parts = verdicts.partition_by([*JUDGED_CELL_KEYS, "group"], as_dict=True)
    rows = [
        {"corrected_reason": ENGLISH_ONLY}
        if row["reason"] == ENGLISH_ONLY
        else _corrected(parts[tuple(row[key] for key in (*JUDGED_CELL_KEYS, "group"))], labels)
        for row in by_language.iter_rows(named=True)
    ]
    return pl.concat([by_language, pl.DataFrame(rows, schema=CORRECTED)], how="horizontal")


def _labels(material: Material, told: pl.DataFrame) -> Domain:
    """Return the turns that people labelled, with the language of the prompt in `group`."""
    sampled, labelled = sampled_and_labelled(material.user_turns, *material.annotations_and_keys)
    sampled = sampled.join(told, on=TURN_KEYS, maintain_order="left")
    return Domain(sampled.clear(), sampled, labelled)


def _corrected(turns: pl.DataFrame, labels: Domain) -> dict[str, Any]:
    here = turns.select(*CELL_KEYS, "group").unique()
    sampled = labels.sampled.join(here, on=[*CELL_KEYS, "group"], how="semi", maintain_order="left")
    written = turns.filter(~pl.col("turn_reason").eq_missing(FAILED))
    domain = labels.part(written, sampled)
    # Strata are of a cell: turns of one without a drawn turn in this language stand for nothing.
    cell = labels.sampled.join(here, on=CELL_KEYS, how="semi")
    n_missing = cell["stratum"].n_unique() - sampled["stratum"].n_unique()
    return corrected_rate(domain, f"{NOT_OF_EACH}: {n_missing} without one" if n_missing else None)


TURN = "turn"


def turn_contrasts(material: Material) -> pl.DataFrame:
    """Return the contrasts of later turns with first ones, none without datasets of such turns."""
    if not material.paths.get("conversation_verdicts"):
        return pl.DataFrame(schema=ADJUSTED_SCHEMA)
    scored = material.read("conversation_verdicts", [*JUDGED_ITEM_KEYS, "sample", "genuine"])
    members = material.table("families").select("model", "family")
    paired = since_the_first(scored.join(members, on="model"))
    return adjusted(compare(paired), controls_of(material.grid.perturbations))


def since_the_first(verdicts: pl.DataFrame) -> Iterator[Pairs]:
    """Yield each later turn of conversations beside their dataset's first, where both were scored.

    Not every conversation has a later turn, so rates of the two turns are of different
    conversations, and their difference is not what a turn changes. Both rates here are of the
    shared ones.
    """
    turns = verdicts.with_columns(clusters(), turn=turn_numbers()).drop_nulls(TURN)
    counted = turns.group_by(*JUDGED_ITEM_KEYS, "family", TURN).agg(
        **COUNTED,
        first=pl.col("genuine").sort_by("sample").first(),
    )
    for turns_of_one in counted.sort(*JUDGED_ITEM_KEYS, TURN).partition_by("dataset"):
        first, *later = turns_of_one[TURN].unique().sort()
        scored = turns_of_one.filter(pl.col("n_scored") > 0)
        for turn in later:
            two = scored.filter(pl.col(TURN).is_in([first, turn]))
            of_both = two.filter(pl.len().over(JUDGED_ITEM_KEYS) == 2)
            yield pairs(cells_of(of_both), TURN, first, JUDGED_CELL_KEYS)


LANGUAGE = "language"
NO_PROBLEM = "no problem was scored in several languages"


def language_contrasts(material: Material) -> pl.DataFrame:
    """Return the contrasts of languages, for follow-ups and accuracy, none without languages."""
    if not material.paths.get("turn_languages"):
        return pl.DataFrame(schema=ADJUSTED_SCHEMA)
    members = material.table("families").select("model", "family")
    controls = controls_of(material.grid.perturbations)
    told = material.read("turn_languages")
    cannot = english_only(material)
    scored = scored_problems(told, material.verdicts).join(members, on="model")
    graded = graded_problems(told, material.grades).join(members, on="model")
    judged = scored.filter(~pl.col("judge").is_in(sorted(cannot)))
    compared = pl.concat(
        [
            between_languages(judged, JUDGED_CELL_KEYS, controls),
            between_languages(graded, ["model", "dataset"], controls),
        ]
    )
    return add_missing_judges(compared, cannot, material.grid.judges)


def _key_by_problem(told: pl.DataFrame) -> pl.DataFrame:
    """Return the items that have a problem and a language, with both in the column `place`.

    `place` is the language, a line end and the problem. Pairs are later made of equal problems.
    """
    with_problem = told.drop_nulls(["problem", "prompt_language"])
    language_and_problem = pl.concat_str("prompt_language", "problem", separator="\n")
    return with_problem.with_columns(place=language_and_problem)


def scored_problems(told: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return counts of verdicts by problem and language, in the form of counted items."""
    keys = ["model", "dataset", "temperature", "perturbation", "item", "sample"]
    problems = _key_by_problem(told).select(*keys, "place")
    turns = verdicts.join(problems, on=keys).sort("judge", *keys)
    return (
        turns.group_by(*JUDGED_CELL_KEYS, "place", maintain_order=True)
        .agg(**COUNTED, first=pl.col("genuine").first())
        .rename({"place": "item"})
    )


def graded_problems(told: pl.DataFrame, grades: pl.DataFrame) -> pl.DataFrame:
    """Return the grades of answers by problem and language, in the form of counted items."""
    problems = _key_by_problem(told).select(*ANSWER_KEYS, "place").unique()
    return count_answers(grades.join(problems, on=ANSWER_KEYS), pl.col("place"))


def between_languages(
    items: pl.DataFrame, keys: Sequence[str], controls: Sequence[str]
) -> pl.DataFrame:
    """Return the contrast of each language with English, or with the first language, by problem.

    `item` is the language, a line end and the problem.
    """
    languages = items["item"].str.split("\n").list.first().unique().sort().to_list()
    baseline = ENGLISH if ENGLISH in languages else next(iter(languages), ENGLISH)
    parts = pl.col("item").str.splitn("\n", 2).struct
    language = parts.field("field_0").alias(LANGUAGE)
    split = items.with_columns(language, item=parts.field("field_1"))
    return adjusted(compare([pairs(cells_of(split), LANGUAGE, baseline, keys)]), controls)


def add_missing_judges(
    table: pl.DataFrame, cannot: Collection[str], judges: Collection[str]
) -> pl.DataFrame:
    """Return contrasts with a row for each judge without any, which gives the reason."""
    missing = sorted(set(judges) - set(table["judge"]))
    names = {"measure": FOLLOW_UP, "factor": LANGUAGE, "scope": "model"}
    rows = [
        names | {"judge": judge, "reason": ENGLISH_ONLY if judge in cannot else NO_PROBLEM}
        for judge in missing
    ]
    return pl.concat([table, pl.DataFrame(rows, schema=ADJUSTED_SCHEMA)])
