"""Table `temperature_response`: how a model's follow-up rate changes with temperature."""

import polars as pl

from userturn.stats.multiple_tests import holm
from userturn.stats.proportions import CONFIDENCE
from userturn.storage.parquet import Schema
from userturn.tables.layout import INTERVAL, OVER_DATASETS, Layout, column, percent, reported, texts
from userturn.tables.make_tables import Material
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="analyse",
    place=50,
    row="a model, dataset, perturbation and judge",
    made_of=("contrasts", "judge_card"),
    settings=("thresholds",),
    formats=(".parquet", ".csv", ".md", ".tex"),
)
MEANINGS = {
    "difference": "rate at the highest minus rate at the lowest temperature",
}
RESPONSE_KEYS = ["family", "model", "dataset", "perturbation", "judge"]
SCHEMA: Schema = {
    **dict.fromkeys(RESPONSE_KEYS, pl.String),
    "lowest_temperature": pl.Float64,
    "rate_lowest": pl.Float64,
    "highest_temperature": pl.Float64,
    "rate_highest": pl.Float64,
    "n_items": pl.Int64,
    "difference": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "p": pl.Float64,
    "p_holm": pl.Float64,
    "n_temperatures": pl.Int64,
    "detected_from": pl.Float64,
    "reason": pl.String,
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return temperature_response(material.table("contrasts"))


def temperature_response(contrasts: pl.DataFrame) -> pl.DataFrame:
    """Return how each model's rate changes with temperature: one row per dataset, and over all.

    Returns:
        The rate at the lowest temperature; the highest temperature with its difference; and
        the lowest temperature whose rise is detected: Holm's p over the temperatures of the row is
        below 0.05. Null with a reason if there is none.
    """
    table = contrasts.filter(pl.col("factor") == "temperature", pl.col("scope") != "family")
    rows = []
    for names, group in table.partition_by(
        RESPONSE_KEYS, as_dict=True, maintain_order=True
    ).items():
        group = group.sort("temperature")
        p = holm(group["p"].to_numpy())
        detected = group.with_columns(p_holm=p).filter(
            pl.col("p_holm") < 1 - CONFIDENCE, pl.col("difference") > 0
        )
        last = group.row(-1, named=True)
        rows.append(
            dict(zip(RESPONSE_KEYS, names, strict=True))
            | {
                "lowest_temperature": float(last["baseline"]),
                "rate_lowest": last["rate_baseline"],
                "highest_temperature": last["temperature"],
                "rate_highest": last["rate_condition"],
                **{name: last[name] for name in ("n_items", "difference", "lower", "upper", "p")},
                "p_holm": float(p[-1]),
                "n_temperatures": group.height + 1,
                "detected_from": detected["temperature"].min(),
                "reason": None if detected.height else "no rise is detectable",
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA).sort(*RESPONSE_KEYS)


LAYOUT = Layout(
    "What temperature does",
    OVER_DATASETS,
    (
        *texts("family", "model", "judge"),
        column("items", "count", "n_items"),
        column(
            "rate at the lowest",
            "share",
            "rate_lowest",
            printed="lowest",
            text=pl.format("{}% at {}", percent("rate_lowest"), "lowest_temperature"),
        ),
        column(
            "rate at the highest",
            "share",
            "rate_highest",
            printed="highest",
            text=pl.format("{}% at {}", percent("rate_highest"), "highest_temperature"),
        ),
        column("change", "change", "difference", *INTERVAL, printed="difference, points"),
        *reported(column("p, Holm", "p", "p_holm")),
        column("detected from temperature", "number", "detected_from", printed="detected from"),
    ),
)
