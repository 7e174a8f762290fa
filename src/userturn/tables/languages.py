"""Table `languages`: rates, accuracy and changes of language by the language of the prompt."""

from collections.abc import Collection
from typing import Any

import polars as pl

from userturn.datasets.clusters import clusters
from userturn.generation.turn_languages import FAILED
from userturn.humans.labels import drawn_turns, people
from userturn.storage.key_columns import (
    ANSWER_KEYS,
    CELL_KEYS,
    JUDGED_CELL_COLUMNS,
    JUDGED_CELL_KEYS,
    TURN_KEYS,
)
from userturn.storage.parquet import Schema
from userturn.tables.item_counts import RATE
from userturn.tables.judge_card import NOT_SCORED
from userturn.tables.judge_languages import (
    ENGLISH,
    ENGLISH_ONLY,
    KNOWN,
    english_only,
    known_of,
)
from userturn.tables.label_domain import Domain
from userturn.tables.layout import (
    BOUNDS,
    GENUINE,
    SCORED,
    TEMPERATURE,
    Layout,
    column,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.turn_clusters import LIMITS, limits_of, rate_columns, rate_over
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_languages",
    place=180,
    row="a cell, judge and language of the prompt",
    made_of=(
        "turn_languages",
        "user_turns",
        "verdicts",
        "grades",
        "annotations",
        "round_keys",
        "judges",
    ),
    needs="turn_languages",
    version=2,
)
MEANINGS = {
    "language": "language of the prompt; null where it cannot be told",
    "reason": "why there is no rate",
    "n_genuine": (
        "turns that the judge calls genuine; null if it knows only English and this is another "
        "language"
    ),
    "n_labelled": "its turns that people labelled",
    "sensitivity": (
        "share of the genuine labelled turns in this language (data/labelled) that the judge calls "
        "genuine"
    ),
    "specificity": (
        "share of the other labelled turns in this language that it does not call genuine"
    ),
    "accuracy_lower": "lower limit of its 95% interval",
    "accuracy_upper": "upper limit of its 95% interval",
}
CHANGES = ("answered_in_another", "turned_in_another", "turned_unlike_answer")
NOT_OF_EACH = "not every stratum of the cell has a drawn turn in this language"
# Of a judge that knows only English, in other languages: what its rules find there says nothing.
NO_RATE = dict.fromkeys(("reason", "corrected_reason", "known_reason"), ENGLISH_ONLY)
SCHEMA: Schema = {
    **JUDGED_CELL_COLUMNS,
    "language": pl.String,
    **dict.fromkeys(("n_items", "n_turns", "n_scored", "n_genuine"), pl.Int64),
    **RATE,
    "reason": pl.String,
    **{f"corrected{limit}": pl.Float64 for limit in LIMITS},
    "n_labelled": pl.Int64,
    "corrected_reason": pl.String,
    **{f"{name}{limit}": pl.Float64 for name in KNOWN for limit in LIMITS},
    "known_reason": pl.String,
    "n_graded": pl.Int64,
    "n_correct": pl.Int64,
    **{f"accuracy{limit}": pl.Float64 for limit in LIMITS},
    **{
        f"{kind}{change}{limit}": dtype
        for change in CHANGES
        for kind, dtype, limits in (("n_", pl.Int64, ("",)), ("", pl.Float64, LIMITS))
        for limit in limits
    },
    "untold": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    annotations, keys = material.annotations_and_keys
    told = material.read("turn_languages")
    drawn = drawn_turns(keys, material.user_turns)
    drawn = drawn.unique(TURN_KEYS, keep="first", maintain_order=True)
    labelled = people(annotations).filter(pl.col("id").is_in(drawn["id"].to_list()))
    languages = told.select(*TURN_KEYS, language="prompt_language")
    drawn = drawn.join(languages, on=TURN_KEYS, maintain_order="left")
    return languages_table(
        told,
        material.verdicts,
        material.grades,
        material.table("judges"),
        english_only(material),
        Domain(drawn.clear(), drawn, labelled),
    )


def languages_table(
    told: pl.DataFrame,
    verdicts: pl.DataFrame,
    grades: pl.DataFrame,
    card: pl.DataFrame,
    english_only: Collection[str],
    labels: Domain,
) -> pl.DataFrame:
    """Return one row per cell, judge and language of the prompt.

    Args:
        told: `generation.turn_languages.LANGUAGES_SCHEMA`, of all turns.
        verdicts: verdicts of all judges on them.
        grades: grades of the answers before them.
        card: the table `judges`.
        english_only: names of such judges.
        labels: the turns that people labelled, with `language`.
    """
    turns = verdicts.join(told, on=TURN_KEYS, maintain_order="left")
    graded = grades.filter(pl.col("correct").is_not_null()).select(*ANSWER_KEYS, "correct")
    rows = []
    by = [*JUDGED_CELL_KEYS, "prompt_language"]
    for names, group in turns.partition_by(by, as_dict=True).items():
        place = dict(zip([*JUDGED_CELL_KEYS, "language"], names, strict=True))
        cannot = place["judge"] in english_only and place["language"] != ENGLISH
        of_judge = NO_RATE if cannot else _of_judge(group, labels, card)
        of_any = {**_counts(group), **_accuracy(group, graded), **_changes(group)}
        rows.append(place | of_any | of_judge)
    found = pl.DataFrame(rows, schema=SCHEMA, infer_schema_length=None)
    return found.sort(*JUDGED_CELL_KEYS, "language", nulls_last=True)


def _of_judge(turns: pl.DataFrame, labels: Domain, card: pl.DataFrame) -> dict[str, Any]:
    """Return what a judge that knows the language says of turns, and what is known of it."""
    judge, language = turns.select("judge", "prompt_language").row(0)
    return {**_rate(turns), **_corrected(turns, labels), **known_of(card, judge, language)}


def _counts(turns: pl.DataFrame) -> dict[str, Any]:
    return {
        "n_items": turns.select(clusters().n_unique()).item(),
        "n_turns": turns.height,
        "n_scored": turns["genuine"].count(),
    }


def _rate(turns: pl.DataFrame) -> dict[str, Any]:
    n_genuine, n_scored = int(turns["genuine"].sum()), turns["genuine"].count()
    return {
        "n_genuine": n_genuine,
        **rate_columns(turns.with_columns(clusters()), "item"),
        "reason": None if n_scored else NOT_SCORED,
    }


def _corrected(turns: pl.DataFrame, labels: Domain) -> dict[str, Any]:
    """Return the rate corrected by people's labels of turns of this cell and language."""
    here = turns.select(*CELL_KEYS, language="prompt_language").unique()
    drawn = labels.drawn.join(here, on=[*CELL_KEYS, "language"], how="semi", maintain_order="left")
    written = turns.filter(~pl.col("turn_reason").eq_missing(FAILED))
    domain = labels.part(written, drawn)
    # Strata are of a cell: turns of one without a drawn turn in this language stand for nothing.
    cell = labels.drawn.join(here, on=CELL_KEYS, how="semi")
    n_missing = cell["stratum"].n_unique() - drawn["stratum"].n_unique()
    reason = domain.reason or (f"{NOT_OF_EACH}: {n_missing} without one" if n_missing else None)
    row = {"n_labelled": domain.labelled.height, "corrected_reason": reason}
    if reason:
        return row
    found = domain.corrected
    return row | limits_of("corrected", (found.estimate, found.lower, found.upper))


def _accuracy(turns: pl.DataFrame, graded: pl.DataFrame) -> dict[str, Any]:
    items = turns.select(ANSWER_KEYS).unique()
    answers = graded.join(items, on=ANSWER_KEYS, how="semi").with_columns(clusters())
    counts = {"n_graded": answers.height, "n_correct": int(answers["correct"].sum())}
    return counts | limits_of("accuracy", rate_over(answers, ["item"], "correct")[0])


def _changes(turns: pl.DataFrame) -> dict[str, Any]:
    """Return how many answers and turns are in another language, and why others have none."""
    known = turns.with_columns(clusters(), probe="item")
    row: dict[str, Any] = {}
    for change in CHANGES:
        once = known.unique("probe") if change == "answered_in_another" else known
        limits, _ = rate_over(once, ["item"], change)
        row |= {f"n_{change}": once[change].count()} | limits_of(change, limits)
    answers = _reasons("answer", turns.unique("item"))
    return row | {
        "untold": "; ".join(
            [*_reasons("prompt", turns.unique("item")), *answers, *_reasons("turn", turns)]
        )
        or None
    }


def _reasons(what: str, rows: pl.DataFrame) -> list[str]:
    """Return why prompts, answers or turns have no language, each reason with their number."""
    counts = rows.drop_nulls(f"{what}_reason").group_by(f"{what}_reason").len().sort(pl.all())
    return [f"{n} {what}{'s' if n > 1 else ''}: {reason}" for reason, n in counts.iter_rows()]


def shown_share(heading: str, name: str) -> Any:
    """Return a column of the report: a share with its limits."""
    return column(heading, "share", *(f"{name}{limit}" for limit in LIMITS))


LAYOUT = Layout(
    "By the language of the prompt",
    {},
    (
        *texts("model", "dataset"),
        TEMPERATURE,
        *texts("perturbation", "judge", "language"),
        column("items", "count", "n_items"),
        GENUINE,
        SCORED,
        BOUNDS,
        *texts("reason"),
        shown_share("corrected by people", "corrected"),
        shown_share("right", "accuracy"),
        shown_share("answered in another language", "answered_in_another"),
        shown_share("turn in another language than the prompt", "turned_in_another"),
        shown_share("than the answer", "turned_unlike_answer"),
        *texts("untold"),
        shown_share("human turns called genuine", "ceiling"),
        shown_share("sensitivity on labelled turns", "sensitivity"),
        shown_share("specificity", "specificity"),
    ),
)
