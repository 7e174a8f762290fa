"""Table `controls`: how each judge labels turns of a known kind."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from userturn.controls.control_turn import DIFFICULTIES, HUMAN, LABELS, NOT_GENUINE
from userturn.datasets.clusters import clusters
from userturn.judges.judge_cell import VERDICTS_SCHEMA
from userturn.judges.verdict import GENUINE
from userturn.storage.key_columns import ANSWER_KEYS
from userturn.storage.parquet import Schema
from userturn.study.cells import ALL
from userturn.tables.layout import INTERVAL, Layout, column, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_clusters import rate_over
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="tabulate_controls",
    place=230,
    row="a kind of control, dataset and judge",
    made_of=("control_verdicts", "human_items"),
)
MEANINGS = {
    "label": "label that the control should get; `not genuine` where more than one fits",
    "n_genuine": "turns that the judge calls genuine",
    "estimate": "n_right / n_scored",
}
SCHEMA: Schema = {
    "control": pl.String,
    "difficulty": pl.String,
    "label": pl.String,
    "dataset": pl.String,
    "judge": pl.String,
    "n_turns": pl.Int64,
    "n_conversations": pl.Int64,
    "n_scored": pl.Int64,
    "n_unscored": pl.Int64,
    "n_genuine": pl.Int64,
    "n_right": pl.Int64,
    "n_same_label": pl.Int64,
    "estimate": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "coverage": pl.Float64,
    "reason": pl.String,
}
# Why a control has no turn in a study.
WHY_NONE = {
    HUMAN: "no dataset of controls.human",
    "other_model": "no second model with another answer to these items",
    "other_turn": "no second conversation in these datasets",
    "continuation": "no answer of two sentences",
}
NO_ANSWER = "no conversation in English with an answer"


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    if not material.paths["control_verdicts"]:
        return pl.DataFrame(schema=SCHEMA)
    return measure_judges(control_verdicts(material))


def control_verdicts(material: Material) -> pl.DataFrame:
    """Return all judges' verdicts on turns of a known kind, with the conversation of each.

    Human replies in one tree belong to one conversation; so do all failures planted in one item,
    whichever model's answer they follow.
    """
    begun = first_messages(material.paths["human_items"])
    verdicts = material.read("control_verdicts", list(VERDICTS_SCHEMA)).join(
        begun, on=ANSWER_KEYS, how="left", maintain_order="left"
    )
    begins = pl.col("conversation").fill_null(clusters())
    return verdicts.with_columns(conversation=pl.concat_str("dataset", begins, separator="\n"))


def first_messages(paths_to_items: Sequence[str]) -> pl.DataFrame:
    """Return the first user message of each item with a human turn; one tree shares it.

    `language` is that of the item, null where its dataset's entry does not tell languages apart.
    """
    by_user = pl.element().filter(pl.element().struct.field("role") == "user")
    begun = pl.col("messages").list.eval(by_user).list.first().struct.field("content")
    tables = [
        pl.read_parquet(path).select(
            "item",
            model=pl.lit(HUMAN),
            dataset=pl.lit(Path(path).stem),
            conversation=begun,
            language=pl.col("language") if _has_languages(path) else pl.lit(None, pl.String),
        )
        for path in paths_to_items
    ]
    schema = dict.fromkeys(["item", "model", "dataset", "conversation", "language"], pl.String)
    return pl.concat([pl.DataFrame(schema=schema), *tables])


def _has_languages(path: str) -> bool:
    return "language" in pl.read_parquet_schema(path)


def measure(verdicts: pl.DataFrame) -> dict[str, Any]:
    """Return a judge's results on one control: genuine is correct only for human turns."""
    label = LABELS[verdicts["perturbation"][0]]
    n_scored = verdicts["genuine"].count()
    n_genuine = int(verdicts["genuine"].sum())
    right = verdicts.with_columns(right=pl.col("genuine") == (label == GENUINE))
    interval, _ = rate_over(right, ["conversation"], "right")
    return {
        "control": verdicts["perturbation"][0],
        "difficulty": DIFFICULTIES[verdicts["perturbation"][0]],
        "label": label,
        "judge": verdicts["judge"][0],
        "n_turns": verdicts.height,
        "n_conversations": verdicts["conversation"].n_unique(),
        "n_scored": n_scored,
        "n_unscored": verdicts.height - n_scored,
        "n_genuine": n_genuine,
        "n_right": int(right["right"].sum()),
        "n_same_label": None if label == NOT_GENUINE else int((verdicts["label"] == label).sum()),
        **interval._asdict(),
        "coverage": n_scored / verdicts.height,
    }


def measure_judges(verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per control, judge and dataset, and one over all datasets.

    A control without turns in the study has one row for each judge, with the reason.

    Args:
        verdicts: verdicts of all judges, with the `conversation` of each turn.
    """
    everywhere = verdicts.with_columns(dataset=pl.lit(ALL))
    groups = pl.concat([everywhere, verdicts]).partition_by("perturbation", "judge", "dataset")
    rows = [{"dataset": group["dataset"][0], **measure(group)} for group in groups]
    rows += missing(verdicts)
    order = {control: position for position, control in enumerate(LABELS)}
    rows.sort(key=lambda r: (r["judge"], order[r["control"]], r["dataset"] != ALL, r["dataset"]))
    return pl.DataFrame(rows, schema=SCHEMA)


def missing(verdicts: pl.DataFrame) -> list[dict[str, Any]]:
    """Return a row for each judge and control without a turn."""
    present = set(verdicts["perturbation"])
    absent = [name for name in LABELS if name not in present]
    none_planted = None if present - {HUMAN} else "no failure was planted"
    counts = dict.fromkeys([name for name in SCHEMA if name.startswith("n_")], 0)
    return [
        counts
        | {
            "control": control,
            "difficulty": DIFFICULTIES[control],
            "label": LABELS[control],
            "dataset": ALL,
            "judge": judge,
            "reason": (none_planted if control != HUMAN else None)
            or WHY_NONE.get(control, NO_ANSWER),
        }
        for judge in sorted(set(verdicts["judge"]))
        for control in absent
    ]


LAYOUT = Layout(
    "Judges: turns of a known kind",
    {"dataset": ALL},
    (
        *texts("control", "difficulty", "label", "judge"),
        column("judged correctly", "share", "estimate", *INTERVAL),
        column("of scored", "of", "n_right", "n_scored"),
        column("turns", "count", "n_turns"),
        *texts("reason"),
    ),
)
