"""Table `pooled_rates`: rates over several cells, with intervals clustered by item."""

import polars as pl

from userturn.storage.parquet import Schema
from userturn.tables.layout import (
    BOUNDS,
    GENUINE,
    OVER_DATASETS,
    SCORED,
    TEMPERATURE,
    Layout,
    printed_only,
    reported,
    texts,
)
from userturn.tables.make_tables import Material
from userturn.tables.pooling import RATE_SCHEMA, pool_scopes
from userturn.workflow.declarations import Table

TABLE = Table(
    rule="analyse",
    place=10,
    row=(
        "a model over datasets, or a family, at a temperature; twice where there are several "
        "datasets"
    ),
    made_of=("verdicts", "families", "judge_card"),
    settings=("thresholds",),
    version=2,
    formats=(".parquet", ".csv", ".md", ".tex"),
)
SCHEMA: Schema = {
    **dict.fromkeys(("scope", "family", "model", "dataset"), pl.String),
    "temperature": pl.Float64,
    **dict.fromkeys(("perturbation", "judge"), pl.String),
    **{"n_genuine" if n == "n_positive" else n: kind for n, kind in RATE_SCHEMA.items()},
}


def table(material: Material) -> pl.DataFrame:
    """Return the table of a study."""
    return pooled_rates(material.items)


def pooled_rates(items: pl.DataFrame) -> pl.DataFrame:
    """Return the rates of models over datasets and of families, at each temperature."""
    found = pool_scopes(items, ["n_genuine"], ["model", "family and dataset", "family"])
    return found.drop("counted").rename({"n_positive": "n_genuine"})


LAYOUT = Layout(
    "Follow-up rates over all datasets",
    OVER_DATASETS | {"scope": "model"},
    (
        *texts("family", "model"),
        TEMPERATURE,
        *texts("judge"),
        printed_only("scored", "count", "n_scored"),
        *reported(*texts("average")),
        GENUINE._replace(printed="{} %"),
        *reported(SCORED, BOUNDS),
    ),
    printed=OVER_DATASETS,
    spread=("average", "micro", "macro"),
)
