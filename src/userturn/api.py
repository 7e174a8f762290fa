"""A finished study in a notebook: its tables, turns and verdicts as Polars frames, its figures.

`results/README.md` says what each column is.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from userturn.errors import UserError, near_miss

if TYPE_CHECKING:
    import altair

CELLS = "cells/*/*/*/*"  # (model, dataset, temperature, perturbation)


@dataclass(frozen=True)
class FinishedStudy:
    """The results folder of a study, whose frames are read when they are asked for.

    Attributes:
        folder: the results.
    """

    folder: Path

    @property
    def rates(self) -> pl.DataFrame:
        """The share of each label by each judge, of cells, models and families, with intervals."""
        return self.table("rates")

    @property
    def contrasts(self) -> pl.DataFrame:
        """Differences between conditions on the same items, with tests."""
        return self.table("contrasts")

    @property
    def turns(self) -> pl.DataFrame:
        """Every user turn of every cell, one per row."""
        return self._every(f"{CELLS}/user_turns.parquet")

    @property
    def verdicts(self) -> pl.DataFrame:
        """Every judge's verdict on every user turn of the cells, which joins `turns` by keys."""
        return self._every(f"{CELLS}/verdicts/*.parquet")

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by its name, such as `rates` or `judges`.

        Raises:
            UserError: the study has no such table.
        """
        return pl.read_parquet(self._named(name, "tables", ".parquet"))

    def figure(self, name: str) -> "altair.TopLevelMixin":
        """Return a figure by its name, such as `rates_by_temperature`, as a notebook shows it.

        Raises:
            UserError: the study has no such figure.
        """
        import altair  # which takes a second

        chart: altair.TopLevelMixin = altair.Chart.from_json(
            self._named(name, "figures", ".vl.json").read_text("utf-8")
        )
        return chart

    def _named(self, name: str, kind: str, suffix: str) -> Path:
        path = self.folder / kind / f"{name}{suffix}"
        if not path.is_file():
            names = [file.name.removesuffix(suffix) for file in path.parent.glob(f"*{suffix}")]
            raise UserError(f"'{path}' does not exist{near_miss(name, names)}")
        return path

    def _every(self, pattern: str) -> pl.DataFrame:
        paths = sorted(self.folder.glob(pattern))
        if not paths:
            raise UserError(f"'{self.folder}' has no {Path(pattern).name} yet: run `snakemake`")
        return pl.concat([pl.read_parquet(path) for path in paths], how="diagonal")
