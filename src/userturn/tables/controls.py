"""Table `controls`: how each judge labels turns of a known kind."""

from typing import Any

import polars as pl

from userturn.controls.schema import LABELS
from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import wilson
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.material import Material
from userturn.tables.report_layout import INTERVAL, Shown, column, texts

CONTROLS_SCHEMA: Schema = {
    "control": pl.String,
    "label": pl.String,
    "dataset": pl.String,
    "judge": pl.String,
    "n_turns": pl.Int64,
    "n_scored": pl.Int64,
    "n_unscored": pl.Int64,
    "n_genuine": pl.Int64,
    "n_right": pl.Int64,
    "n_same_label": pl.Int64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "coverage": pl.Float64,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    if not material.paths["control_verdicts"]:
        return pl.DataFrame(schema=CONTROLS_SCHEMA)
    return measure_judges(material.read("control_verdicts"))


def measure(verdicts: pl.DataFrame) -> dict[str, Any]:
    """Return how a judge did on the turns of one control: right is genuine for human ones only."""
    label = LABELS[verdicts["perturbation"][0]]
    n_scored = verdicts["genuine"].count()
    n_genuine = int(verdicts["genuine"].sum())
    n_right = n_genuine if label == GENUINE else n_scored - n_genuine
    estimate, lower, upper = wilson(n_right, n_scored)
    return {
        "control": verdicts["perturbation"][0],
        "label": label,
        "judge": verdicts["judge"][0],
        "n_turns": verdicts.height,
        "n_scored": n_scored,
        "n_unscored": verdicts.height - n_scored,
        "n_genuine": n_genuine,
        "n_right": n_right,
        "n_same_label": int((verdicts["label"] == label).sum()),
        "estimate": estimate,
        "lower": lower,
        "upper": upper,
        "coverage": n_scored / verdicts.height,
    }


def measure_judges(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per control, judge and dataset, and one over all datasets."""
    everywhere = verdicts.with_columns(dataset=pl.lit(ALL))
    groups = pl.concat([everywhere, verdicts]).partition_by("perturbation", "judge", "dataset")
    rows = [{"dataset": group["dataset"][0], **measure(group)} for group in groups]
    order = {control: position for position, control in enumerate(LABELS)}
    rows.sort(key=lambda r: (r["judge"], order[r["control"]], r["dataset"] != ALL, r["dataset"]))
    return pl.DataFrame(rows, schema=CONTROLS_SCHEMA)


REPORTED = Shown(
    "Judges: turns of a known kind",
    {"dataset": ALL},
    (
        *texts("control", "label", "judge"),
        column("judged correctly", "share", "estimate", *INTERVAL),
        column("of scored", "of", "n_right", "n_scored"),
        column("turns", "count", "n_turns"),
    ),
)
