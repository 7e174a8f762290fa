"""Table `training_curve`: what trained models do at each checkpoint of their training.

Turns are judged by the heuristic judge, which asks nobody: another judge would be asked about every
checkpoint.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from userturn.judges.heuristic import judge_by_words
from userturn.stats.clustered_measures import clustered_mean
from userturn.storage.files import read_json
from userturn.storage.table_files import Schema
from userturn.tables.layout import Layout, column, limited, texts
from userturn.tables.make_tables import Material
from userturn.tables.turn_rates import LIMITS, limits_of, rate_over
from userturn.workflow.registry import Table

TABLE = Table(
    rule="tabulate_curve",
    place=195,
    row="a checkpoint of a training whose recipe has a `curve`; step 0 is its base",
    made_of=("training_curves",),
    settings=("heuristic",),
    needs="training_curves",
)
MEASURES = ("rate", "gain", "accuracy")
MEANINGS = {
    "step": "updates of the weights until then",
    "n_conversations": "conversations that are not learnt, each with a greedy answer and user turn",
    "n_scored": "user turns that the heuristic judge labels",
    "rate": "share of these that it calls genuine follow-ups",
    "n_gains": "conversations whose own follow-up could be scored",
    "gain": "likelihood gain of that follow-up from its answer, nats a character, the mean",
    "n_graded": "answers with a grade; none where the data or the recipe have nothing to grade by",
    "accuracy": "share of these that are right",
}
SCHEMA: Schema = {
    "model": pl.String,
    **dict.fromkeys(("step", "n_conversations", "n_scored", "n_gains", "n_graded"), pl.Int64),
    **{f"{name}{end}": pl.Float64 for name in MEASURES for end in LIMITS},
}
ROWS: Schema = {"conversation": pl.String, "gain": pl.Float64, "correct": pl.Boolean}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    judge = material.grid.all_judges.get("heuristic")
    rows = [
        {"model": Path(path).parent.name, **row}
        for path in sorted(material.paths["training_curves"])
        for row in curve(read_json(path)["curve"], judge)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def curve(noted: list[dict[str, Any]], judge: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield the columns of each checkpoint.

    `noted` has the rows of `training.curve`. `judge` is the heuristic judge's entry. Without it no
    turn is scored.
    """
    prompts = [[{"role": "user", "content": row["prompt"]}] for row in noted]
    labels = [
        judge and judge_by_words(prompt, row["answer"], row["turn"], judge).genuine
        for prompt, row in zip(prompts, noted, strict=True)
    ]
    steps = pl.DataFrame(noted, schema={"step": pl.Int64, **ROWS}, infer_schema_length=None)
    steps = steps.with_columns(genuine=pl.Series(labels, dtype=pl.Boolean))
    for (step,), rows in steps.partition_by("step", as_dict=True).items():
        gains = rows.drop_nulls("gain")
        mean = clustered_mean(gains["gain"], gains["conversation"].to_list())
        yield {
            "step": step,
            "n_conversations": rows.height,
            "n_scored": rows["genuine"].count(),
            "n_gains": gains.height,
            "n_graded": rows["correct"].count(),
            **limits_of("rate", rate_over(rows, ["conversation"])[0]),
            **limits_of("gain", mean),
            **limits_of("accuracy", rate_over(rows, ["conversation"], "correct")[0]),
        }


LAYOUT = Layout(
    "Trainings at their checkpoints, after conversations that are not learnt",
    {},
    (
        *texts("model"),
        column("step", "count"),
        column("conversations", "count", "n_conversations"),
        limited("genuine, by the heuristic judge", "share", "rate"),
        limited("gain, nats a character", "number", "gain"),
        limited("right", "share", "accuracy"),
    ),
)
