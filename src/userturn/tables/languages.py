"""Table `languages`: accuracy, and changes of language, by the language of the prompt."""

from typing import Any

import polars as pl

from userturn.datasets.turns import clusters
from userturn.storage.table_files import ANSWER_KEYS, CELL_COLUMNS, CELL_KEYS, Schema
from userturn.tables.layout import Layout, column, limited, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import LIMITS, limits_of, rate_over
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate_languages",
    place=180,
    row="the answers and turns of a cell in a language of the prompt",
    made_of=("turn_languages", "grades", "copies"),
    needs="turn_languages",
    version=3,
)
MEANINGS = {
    "language": "language of the prompt; null where it cannot be told",
}
CHANGES = ("answered_in_another", "turned_in_another", "turned_unlike_answer")
SCHEMA: Schema = {
    **CELL_COLUMNS,
    "language": pl.String,
    **dict.fromkeys(("n_items", "n_turns", "n_graded", "n_correct"), pl.Int64),
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
    return languages_table(material.read("turn_languages"), material.grades)


def languages_table(told: pl.DataFrame, grades: pl.DataFrame) -> pl.DataFrame:
    """Return one row per cell and language of the prompt."""
    graded = grades.filter(pl.col("correct").is_not_null()).select(*ANSWER_KEYS, "correct")
    rows = []
    for names, turns in told.partition_by([*CELL_KEYS, "prompt_language"], as_dict=True).items():
        names_of_row = dict(zip([*CELL_KEYS, "language"], names, strict=True))
        n_items = turns.select(clusters().n_unique()).item()
        counts = {"n_items": n_items, "n_turns": turns.height}
        rows.append(names_of_row | counts | _accuracy(turns, graded) | _changes(turns))
    table = pl.DataFrame(rows, schema=SCHEMA, infer_schema_length=None)
    return table.sort(*CELL_KEYS, "language", nulls_last=True)


def _accuracy(turns: pl.DataFrame, graded: pl.DataFrame) -> dict[str, Any]:
    items = turns.select(ANSWER_KEYS).unique()
    answers = graded.join(items, on=ANSWER_KEYS, how="semi").with_columns(clusters())
    counts = {"n_graded": answers.height, "n_correct": int(answers["correct"].sum())}
    return counts | limits_of("accuracy", rate_over(answers, ["item"], "correct")[0])


def _changes(turns: pl.DataFrame) -> dict[str, Any]:
    clustered = turns.with_columns(clusters(), probe="item")
    row: dict[str, Any] = {}
    for change in CHANGES:
        once = clustered.unique("probe") if change == "answered_in_another" else clustered
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


LAYOUT = Layout(
    "Answers and turns by the language of the prompt",
    {},
    (
        *texts("model", "dataset", "temperature", "perturbation", "language"),
        column("items", "count", "n_items"),
        column("turns", "count", "n_turns"),
        limited("right", "share", "accuracy"),
        limited("answered in another language", "share", "answered_in_another"),
        limited("turn in another language than the prompt", "share", "turned_in_another"),
        limited("than the answer", "share", "turned_unlike_answer"),
        *texts("untold"),
    ),
)
