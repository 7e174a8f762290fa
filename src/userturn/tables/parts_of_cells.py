"""Rates of parts of cells, as rows of `rates`: after each turn of talks, in each language."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import polars as pl

from userturn.datasets.clusters import clusters
from userturn.datasets.turns import turn_numbers
from userturn.generation.turn_languages import FAILED
from userturn.humans.labels import drawn_turns, people
from userturn.judges.judge_cell import scan_verdicts
from userturn.judges.verdict import ARGUABLE, GENUINE
from userturn.storage.table_files import CELL_KEYS, JUDGED_CELL_KEYS, TURN_KEYS
from userturn.tables.corrected_rates import CORRECTED
from userturn.tables.item_counts import RATE
from userturn.tables.judge_languages import ENGLISH, ENGLISH_ONLY, english_only
from userturn.tables.label_domain import Domain
from userturn.tables.pooling import AVERAGES, LENIENT, STRICT_AND_LENIENT, beside_strict, pool
from userturn.tables.turn_clusters import limits_of

if TYPE_CHECKING:
    from userturn.tables.make_tables import Material

BY_TURN, BY_LANGUAGE = "cell and turn", "cell and language"
NOT_OF_EACH = "not every stratum of the cell has a drawn turn in this language"


def parts_of_cells(material: "Material") -> list[pl.DataFrame]:
    """Return the rates of the parts of a study's cells; none without such datasets."""
    members = material.table("families").select("model", "family")
    found = []
    if paths := material.paths.get("conversation_verdicts"):
        scored = (
            scan_verdicts(paths).select(*JUDGED_CELL_KEYS, "item", "label", "genuine").collect()
        )
        found.append(rates_of_parts(in_turns(scored), members, BY_TURN))
    if material.paths.get("turn_languages"):
        told = material.read("turn_languages").select(
            *TURN_KEYS, "turn_reason", group="prompt_language"
        )
        verdicts = material.verdicts.join(told, on=TURN_KEYS, maintain_order="left")
        labels = _labels(material, told.drop("turn_reason"))
        found.append(rates_by_language(verdicts, members, english_only(material), labels))
    return found


def in_turns(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return verdicts with `group`, the number of the user turn before the answer, as text."""
    return verdicts.with_columns(group=turn_numbers().cast(pl.String))


def rates_of_parts(verdicts: pl.DataFrame, members: pl.DataFrame, scope: str) -> pl.DataFrame:
    """Return the rate of genuine turns of each cell, judge and `group`.

    Args:
        verdicts: one row per judged turn, with `item`, `label`, `genuine` and `group`.
        members: the family of each model.
        scope: what the groups are.
    """
    counts = verdicts.group_by(*JUDGED_CELL_KEYS, "group", clusters()).agg(
        n_turns=pl.len().cast(pl.Int64),
        n_scored=pl.col("genuine").count().cast(pl.Int64),
        n_genuine=pl.col("genuine").sum().cast(pl.Int64),
        n_lenient=pl.col("label").is_in([GENUINE, ARGUABLE]).sum().cast(pl.Int64),
    )
    by = ["family", *JUDGED_CELL_KEYS, "group"]
    found = pool(counts.join(members, on="model"), by, STRICT_AND_LENIENT, AVERAGES[:1])
    rated = beside_strict(found).drop("counted")
    return rated.with_columns(scope=pl.lit(scope), label=pl.lit(GENUINE))


def rates_by_language(
    verdicts: pl.DataFrame, members: pl.DataFrame, english_only: Collection[str], labels: Domain
) -> pl.DataFrame:
    """Return the rate of each cell, judge and language of the prompt, and the corrected rate.

    A judge whose rules know only English has no rate in other languages: what it finds there says
    nothing.

    Args:
        verdicts: verdicts of all judges, with the language in `group`.
        members: the family of each model.
        english_only: names of such judges.
        labels: the turns that people labelled, with the language in `group`.
    """
    found = rates_of_parts(verdicts, members, BY_LANGUAGE)
    cannot = pl.col("judge").is_in(sorted(english_only)) & pl.col("group").ne_missing(ENGLISH)
    known = [pl.when(~cannot).then(name).alias(name) for name in ("n_positive", *RATE, *LENIENT)]
    why = pl.when(cannot).then(pl.lit(ENGLISH_ONLY)).otherwise("reason").alias("reason")
    found = found.with_columns(*known, why)
    parts = verdicts.partition_by([*JUDGED_CELL_KEYS, "group"], as_dict=True)
    rows = [
        {"corrected_reason": ENGLISH_ONLY}
        if row["reason"] == ENGLISH_ONLY
        else _corrected(parts[tuple(row[key] for key in (*JUDGED_CELL_KEYS, "group"))], labels)
        for row in found.iter_rows(named=True)
    ]
    return pl.concat([found, pl.DataFrame(rows, schema=CORRECTED)], how="horizontal")


def _labels(material: "Material", told: pl.DataFrame) -> Domain:
    """Return the turns that people labelled, with the language of the prompt in `group`."""
    annotations, keys = material.annotations_and_keys
    drawn = drawn_turns(keys, material.user_turns)
    drawn = drawn.unique(TURN_KEYS, keep="first", maintain_order=True)
    labelled = people(annotations).filter(pl.col("id").is_in(drawn["id"].to_list()))
    drawn = drawn.join(told, on=TURN_KEYS, maintain_order="left")
    return Domain(drawn.clear(), drawn, labelled)


def _corrected(turns: pl.DataFrame, labels: Domain) -> dict[str, Any]:
    """Return the rate corrected by people's labels of turns of this cell and language."""
    here = turns.select(*CELL_KEYS, "group").unique()
    drawn = labels.drawn.join(here, on=[*CELL_KEYS, "group"], how="semi", maintain_order="left")
    written = turns.filter(~pl.col("turn_reason").eq_missing(FAILED))
    domain = labels.part(written, drawn)
    # Strata are of a cell: turns of one without a drawn turn in this language stand for nothing.
    cell = labels.drawn.join(here, on=CELL_KEYS, how="semi")
    n_missing = cell["stratum"].n_unique() - drawn["stratum"].n_unique()
    reason = domain.reason or (f"{NOT_OF_EACH}: {n_missing} without one" if n_missing else None)
    counts = {"n_turns_drawn_from": written.height, "n_labelled": domain.labelled.height}
    if reason:
        return counts | {"corrected_reason": reason}
    found = domain.corrected
    return counts | limits_of("corrected", (found.estimate, found.lower, found.upper))
