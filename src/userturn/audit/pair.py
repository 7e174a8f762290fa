"""All that an audited study has of one model and dataset: read once, compared with its inputs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from userturn.audit.findings import COMPARED, Finding, Item, Status, difference
from userturn.errors import UserError
from userturn.storage.files import read_json
from userturn.storage.journal_table import has_failed, read_outcomes
from userturn.study.asks import journal_of, names_of
from userturn.study.grid import Grid
from userturn.study.record import StudyRecord
from userturn.workflow.study_files import FAULTS

MOST_TABLES = 4  # tables in memory


class BrokenError(Exception):
    """An artifact that is missing or was altered."""


def artifact_path(grid: Grid, path: str) -> Path:
    """Return the present path of an artifact, from its path in rules."""
    return grid.results / path.removeprefix("results/")


@dataclass(frozen=True)
class Pair:
    """A model and a dataset of an audited study, whose grid has the study's present folder.

    Attributes:
        with_journals: False for a copy without journals.
        broken: artifacts already reported as missing or altered, which are not compared.
    """

    grid: Grid
    study: StudyRecord
    model: str
    dataset: str
    with_journals: bool
    broken: frozenset[str]

    @property
    def path_to_items(self) -> str:
        """The path of the dataset's prepared table."""
        return f"results/datasets/{self.dataset}.parquet"

    @cached_property
    def items(self) -> list[str]:
        """The ids of the dataset's items."""
        return self.read(self.path_to_items)["item"].to_list()

    @cached_property
    def description(self) -> dict[str, Any]:
        """The model's description."""
        return read_json(self.whole(f"results/models/{self.model}.json"))

    def whole(self, path: str) -> Path:
        """Return the present path of an intact artifact, from its path in rules.

        Raises:
            BrokenError: it is missing or was altered.
        """
        if path in self.broken:
            raise BrokenError(path)
        return artifact_path(self.grid, path)

    @cached_property
    def outcomes(self) -> pl.DataFrame:
        """The table of outcomes in the journal of the model and dataset."""
        grid, model, dataset = self.grid, self.model, self.dataset
        plans = sorted(grid.requests_folder(model, dataset, "").glob("*/[!.]*.parquet"))
        return read_outcomes(journal_of(grid, model, dataset, plans))

    def names(self, identity: str) -> dict[str, tuple[str, str]]:
        """Return the names of dataset and item under which a plan's requests were asked, by key.

        Requests of earlier versions are missing here: they were asked under the present names.
        """
        folder = self.grid.requests_folder(self.model, self.dataset, identity)
        return names_of(sorted(folder.glob("[!.]*.parquet")))

    @cached_property
    def never_failed(self) -> bool:
        """Whether journals show that no request failed: plans then have the present answers."""
        journal = self.grid.journal_folder(self.model, self.dataset)
        return self.with_journals and not has_failed(journal)

    @cached_property
    def _tables(self) -> dict[str, pl.DataFrame]:
        return {}

    def read(self, path: str) -> pl.DataFrame:
        """Return a table by its path in rules, or raise BrokenError. A few stay in memory."""
        if path not in self._tables:
            if len(self._tables) == MOST_TABLES:
                self._tables.pop(next(iter(self._tables)))
            self._tables[path] = pl.read_parquet(self.whole(path))
        return self._tables[path]

    def compare(
        self, check: str, path: str, make: Callable[[], pl.DataFrame], keys: Sequence[str]
    ) -> Iterator[Item]:
        """Compare an artifact with its recomputation, as `compared` does."""
        return compared(check, path, make, lambda: self.read(path), keys)


def findings_of(
    check: str, path: str, expected: str, findings: Iterator[Finding]
) -> Iterator[Finding]:
    """Yield findings, or one that names the type of error if the files cannot be read."""
    try:
        yield from findings
    except BrokenError:
        return  # reported elsewhere
    except FAULTS as error:
        yield Finding(check, path, expected, type(error).__name__)


def compared(
    check: str,
    path: str,
    make: Callable[[], pl.DataFrame],
    read: Callable[[], pl.DataFrame],
    keys: Sequence[str],
    origin: str = "its inputs",
) -> Iterator[Item]:
    """Yield that an artifact was compared with its recomputation, and a finding if it differs.

    Nothing is yielded for a broken one, which another check reports.
    """
    try:
        wrong = difference(make(), read(), keys)
    except BrokenError:
        return
    except FAULTS as error:
        reason = str(error).partition("\n")[0] if isinstance(error, UserError) else ""
        wrong = f"to follow from {origin}", reason or type(error).__name__
    yield Status(path, COMPARED)
    if wrong is not None:
        yield Finding(check, path, *wrong)
