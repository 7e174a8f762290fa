"""Which rows and columns of each table the report shows."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl
from polars import selectors as cs

MOST_ROWS = 400  # of one table; the rest stands in its file
LOWEST = "lowest"  # of a column, in place of a value


class Column(NamedTuple):
    """A column as it is shown.

    Attributes:
        heading: above it.
        kind: text; count; number; p; share or change, with its limits if there are three columns;
            of: a number out of another.
        columns: of the table.
    """

    heading: str
    kind: str
    columns: tuple[str, ...]


class Shown(NamedTuple):
    """What of a table is shown: rows whose columns have the wanted values, and some columns."""

    title: str
    wanted: Mapping[str, Any]
    columns: tuple[Column, ...]


def _column(heading: str, kind: str, *columns: str) -> Column:
    return Column(heading, kind, columns or (heading,))


def _texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name.replace("_", " "), "text", (name,)) for name in names)


LIMITS = ("lower", "upper")
RATE = _column("genuine", "share", "estimate", *LIMITS)
SCORED = _column("scored", "of", "n_scored", "n_turns")
BOUNDS = _column(
    "if no, every unscored one were genuine",
    "bounds",
    "if_unscored_negative",
    "if_unscored_positive",
)
TEMPERATURE = _column("temperature", "number", "temperature")
P = (_column("p", "p"), _column("p, adjusted", "p", "p_adjusted"))
OVER_DATASETS = {"dataset": "all", "perturbation": "none"}

TABLES: dict[str, Shown] = {
    "pooled_rates": Shown(
        "Follow-up rates over all datasets",
        OVER_DATASETS | {"scope": "model"},
        (
            *_texts("family", "model"),
            TEMPERATURE,
            *_texts("judge", "average"),
            RATE,
            SCORED,
            BOUNDS,
        ),
    ),
    "accuracy": Shown(
        "Task accuracy",
        {},
        (
            *_texts("model", "dataset"),
            _column("right", "share", "estimate", *LIMITS),
            _column("graded", "of", "n_graded", "n_items"),
        ),
    ),
    "contrasts": Shown(
        "Contrasts on the same items",
        {"correction": "Holm"},
        (
            *_texts("factor", "condition", "baseline", "model", "judge"),
            _column("items", "count", "n_items"),
            _column("change", "change", "difference", *LIMITS),
            *P,
            _column("detectable change", "change", "detectable_difference"),
        ),
    ),
    "temperature_response": Shown(
        "What temperature does",
        OVER_DATASETS,
        (
            *_texts("family", "model", "judge"),
            _column("rate at the lowest", "share", "rate_lowest"),
            _column("rate at the highest", "share", "rate_highest"),
            _column("change", "change", "difference", *LIMITS),
            _column("p, Holm", "p", "p_holm"),
            _column("detected from", "number", "detected_from"),
        ),
    ),
    "decoupling": Shown(
        "Accuracy beside follow-ups",
        {"temperature": LOWEST},
        (
            *_texts("family", "model"),
            _column("parameters, billions", "number", "size"),
            *_texts("dataset", "judge"),
            _column("accuracy", "share", *(f"accuracy_{n}" for n in ("estimate", *LIMITS))),
            _column("genuine", "share", *(f"followup_{n}" for n in ("estimate", *LIMITS))),
            _column("scored", "count", "n_scored"),
        ),
    ),
    "correlations": Shown(
        "What goes with what, over models",
        {"dataset": "all"},
        (
            *_texts("x", "y", "family"),
            TEMPERATURE,
            *_texts("judge"),
            _column("models", "count", "n_models"),
            _column("correlation", "number", "estimate", *LIMITS),
            *P,
            *_texts("reason"),
        ),
    ),
    "failure_profiles": Shown(
        "What the user turns are",
        OVER_DATASETS | {"temperature": LOWEST},
        (
            *_texts("family", "model", "judge", "label"),
            _column("share", "share", "estimate", *LIMITS),
            _column("turns", "of", "n_positive", "n_scored"),
        ),
    ),
    "post_training": Shown(
        "What post-training changes",
        {},
        (
            *_texts("measure", "model", "baseline", "dataset", "judge"),
            TEMPERATURE,
            _column("items", "count", "n_items"),
            _column("change", "change", "difference", *LIMITS),
            *P,
            *_texts("reason"),
        ),
    ),
    "controls": Shown(
        "What the judges are worth: turns of a known kind",
        {"dataset": "all"},
        (
            *_texts("control", "label", "judge"),
            _column("judged rightly", "share", "estimate", *LIMITS),
            _column("of scored", "of", "n_right", "n_scored"),
            _column("turns", "count", "n_turns"),
        ),
    ),
    "judges": Shown(
        "What the judges are worth: tricks and price",
        {},
        (
            *_texts("judge"),
            SCORED,
            _column("talked over", "share", "injection_rate", *LIMITS),
            _column("cost", "number"),
            _column("cost of 1,000", "number", "cost_per_1000"),
            _column("seconds for 1,000", "number", "seconds_per_1000"),
        ),
    ),
    "agreement": Shown(
        "Agreement of people and judges",
        {"family": "all"},
        (
            *_texts("comparison", "first", "second", "scale", "weights", "coefficient"),
            _column("agreement", "number", "estimate", *LIMITS),
            _column("turns", "count", "n_turns"),
            *_texts("reason"),
        ),
    ),
    "corrected_rates": Shown(
        "Rates corrected by people's labels",
        {},
        (
            *_texts("scope", "family", "model", "dataset"),
            TEMPERATURE,
            *_texts("perturbation", "judge"),
            _column("labelled", "of", "n_labelled", "n_turns"),
            _column("judge alone", "share", *(f"plain_{n}" for n in ("estimate", *LIMITS))),
            _column("corrected", "share", "estimate", *LIMITS),
            *_texts("reason"),
        ),
    ),
    "anchors": Shown(
        "Beside the paper",
        {},
        _texts("quantity", "published", "this_study", "agree", "criterion", "note", "judge"),
    ),
    "rates": Shown(
        "Every cell",
        {},
        (
            *_texts("model", "dataset"),
            TEMPERATURE,
            *_texts("perturbation", "judge"),
            RATE,
            SCORED,
            BOUNDS,
        ),
    ),
}


def rows_of(table: pl.DataFrame, wanted: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rows whose columns have the wanted values; columns that are not there are free."""
    for name, value in wanted.items():
        if name in table.columns:
            column = pl.col(name)
            table = table.filter(column == (column.min() if value == LOWEST else value))
    return table


def shown_table(name: str, table: pl.DataFrame, judge: str) -> dict[str, Any]:
    """Return a table as the page takes it, the primary judge's rows first.

    Returns:
        `columns`: heading and kind; `rows`: the values of each column, three where it has limits;
        `n`: rows before the longest were cut to `MOST_ROWS`.
    """
    shown = TABLES[name]
    rows = rows_of(table, shown.wanted)
    if "judge" in rows.columns:
        rows = rows.sort(pl.col("judge") != judge, maintain_order=True)
    rows = rows.with_columns(pl.when(cs.float().is_finite()).then(cs.float()))
    columns = [column for column in shown.columns if set(column.columns) <= set(table.columns)]
    values = [rows.head(MOST_ROWS).select(column.columns).rows() for column in columns]
    return {
        "columns": [[column.heading, column.kind] for column in columns],
        "rows": [list(row) for row in zip(*values, strict=True)],
        "n": rows.height,
    }
