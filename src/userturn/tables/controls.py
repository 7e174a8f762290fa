"""Table `controls`: how each judge labels turns of a known kind."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from userturn.controls.schema import LABELS
from userturn.judges.verdict import GENUINE
from userturn.stats.proportions import wilson
from userturn.storage.parquet import Schema, write_csv, write_table

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

ALL = "all"  # the row over all datasets


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
    """Return a row a control, judge and dataset, and one over all datasets."""
    everywhere = verdicts.with_columns(dataset=pl.lit(ALL))
    groups = pl.concat([everywhere, verdicts]).partition_by("perturbation", "judge", "dataset")
    rows = [{"dataset": group["dataset"][0], **measure(group)} for group in groups]
    order = {control: position for position, control in enumerate(LABELS)}
    rows.sort(key=lambda r: (r["judge"], order[r["control"]], r["dataset"] != ALL, r["dataset"]))
    return pl.DataFrame(rows, schema=CONTROLS_SCHEMA)


def tabulate_controls(
    paths_to_verdicts: Sequence[str],
    identity: str,
    path_to_controls: str,
    path_to_controls_csv: str,
) -> None:
    """Write how each judge did on each control as Parquet and CSV."""
    tables = [pl.read_parquet(path) for path in sorted(paths_to_verdicts)]
    controls = measure_judges(pl.concat(tables)) if tables else pl.DataFrame(schema=CONTROLS_SCHEMA)
    write_table(controls, path_to_controls, identity)
    write_csv(controls, path_to_controls_csv)
