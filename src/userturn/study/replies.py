"""Where the replies to requests are found: in journals, or in a forecast of what would be asked."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from userturn.config.entries import Config
from userturn.storage.journal_table import Journal
from userturn.storage.table_files import Schema
from userturn.study.asks import UNKNOWN
from userturn.study.grid import Grid
from userturn.study.inputs import Contents

NAMES: Schema = {"ask": pl.String, "asked_as": pl.String, "asked_item": pl.String}


def scan_plans(paths: Iterable[Path]) -> pl.LazyFrame:
    """Return some plans as one table; those of an earlier version have no asks and names."""
    named = pl.LazyFrame(schema={"key": pl.String, **NAMES})
    return pl.concat([named, *map(pl.scan_parquet, paths)], how="diagonal")


def names_of(plans: Iterable[Path]) -> dict[str, tuple[str, str]]:
    """Return the names of dataset and item that requests of plans were asked under, by their key.

    Requests that an earlier version planned are left out.
    """
    rows = scan_plans(plans).select("key", "asked_as", "asked_item").drop_nulls().collect()
    return {key: (dataset, item) for key, dataset, item in rows.iter_rows()}


class ForecastGrid(Grid):
    """A grid whose requests are planned in a scratch folder and known by their asks alone."""

    def __init__(
        self,
        config: Config,
        results: str | Path,
        contents: Contents,
        scratch: Path,
        replies: Mapping[str, pl.DataFrame],
    ) -> None:
        """Take a grid's parts, a scratch folder, and by model what its journals have, by ask."""
        super().__init__(config, results, contents)
        self.scratch = scratch
        self.replies = replies

    def requests_folder(self, model: str, dataset: str, identity: str) -> Path:
        """Return the folder of a plan, in the scratch folder."""
        return self.scratch / "requests" / model / dataset / identity

    def dataset_path(self, dataset: str) -> Path:
        """Return the path of a dataset's items: in the scratch folder if they are not current."""
        prepared = self.scratch / "datasets" / f"{dataset}.parquet"
        return prepared if prepared.is_file() else super().dataset_path(dataset)


def journal_of(grid: Grid, model: str, dataset: str, plans: Iterable[Path]) -> Journal:
    """Return the journal with the replies to some plans of a model and dataset.

    Requests keep the name that their dataset was first asked under, and its journal. In a forecast,
    a reply that is not there yet is one whose text is unknown.
    """
    asked = scan_plans(plans)
    if isinstance(grid, ForecastGrid):
        known = grid.replies[model]
        lacking = asked.select("key").drop_nulls().unique().collect()
        lacking = lacking.join(known, on="key", how="anti")
        unknown = lacking.with_columns(outcome=pl.lit("ok"), text=pl.lit(UNKNOWN))
        return pl.concat([known, unknown], how="diagonal").sort("key")
    own = grid.journal_folder(model, dataset)
    names = asked.select(pl.col("asked_as").unique().drop_nulls()).collect()["asked_as"]
    return [own, *(own.with_name(name) for name in sorted({*names} - {own.name}))]
