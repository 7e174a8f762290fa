"""A judge of the study, and the cells whose turns it reads, a slice at a time."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from userturn.judges.budget import Account
from userturn.judges.usage import Price
from userturn.judges.verdict import UserTurn
from userturn.storage.parquet import PART, SLICE, slices

JUDGED = ["item", "answer", "outcome", "text", "error"]


@dataclass(frozen=True)
class Judge:
    """A judge of the study, with what it may spend.

    Attributes:
        name: in the config.
        settings: its complete entry.
        results: folder of the study's results.
        accounts: folder of what all judges have cost.
        prices: of all judges that have one, by name.
        cap: money that all judges together may never pass, or None.
        max_error_share: of a cell.
        max_unscored_share: of a cell, errors included.
    """

    name: str
    settings: Mapping[str, Any]
    results: Path
    accounts: Path
    prices: Mapping[str, Price]
    cap: float | None
    max_error_share: float
    max_unscored_share: float = 1.0

    def journal(self, dataset: str) -> Path:
        """Return the journal of all that this judge was asked about a dataset's cells."""
        return self.results / "journal" / "judges" / self.name / dataset

    def account(self, cell: str) -> Account:
        """Return a new account for one cell."""
        price = self.prices.get(self.name)
        return Account(self.accounts, self.name, cell, price, self.cap, self.prices)


@dataclass(frozen=True)
class CellToJudge:
    """Where the turns of a cell and the items they belong to are, and which turns are meant.

    Attributes:
        path_to_user_turns: of the cell.
        path_to_items: of its dataset.
        first: number of the first turn that is meant, from 0.
        n_turns: how many are meant, None for all that follow.
    """

    path_to_user_turns: str
    path_to_items: str
    first: int = 0
    n_turns: int | None = None

    def name(self, results: Path) -> str:
        """Return the cell's folder below the results."""
        return os.path.relpath(Path(self.path_to_user_turns).parent, results)

    @property
    def which(self) -> str:
        """Which of the cell's turns are meant, for messages; nothing where all are."""
        n = self.n_turns
        return "" if n is None else f", turns {self.first + 1} to {self.first + n}"

    @property
    def dataset(self) -> str:
        """The dataset of the cell."""
        turns = pl.scan_parquet(self.path_to_user_turns).select(pl.col("dataset").first())
        return str(turns.collect().item())

    def parts(self, size: int = PART) -> list["CellToJudge"]:
        """Return the cell in parts of so many turns, one where it is empty."""
        n = self._turns().select(pl.len()).collect().item()
        if n <= size:
            return [self]
        begins = range(0, n, size)
        return [replace(self, first=first, n_turns=min(size, n - first)) for first in begins]

    def columns(self, *names: str) -> pl.DataFrame:
        """Return some columns of the user turns."""
        return self._turns().select(names).collect()

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield item, answer, outcome, text, error and messages of each turn, in order."""
        items = pl.scan_parquet(self.path_to_items).select("item", "messages")
        places = items.select("item").with_row_index("place").collect()
        for part in slices(self._turns().select(JUDGED), SLICE):
            found = part.join(places, on="item")["place"].sort()  # near each other, as turns are
            here = items.slice(found[0], found[-1] - found[0] + 1) if len(found) else items.clear()
            joined = part.join(here.collect(), on="item", how="left", maintain_order="left")
            yield from joined.iter_rows(named=True)

    def _turns(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.path_to_user_turns).slice(self.first, self.n_turns)

    def user_turns(self) -> Iterator[UserTurn | None]:
        """Yield each turn with what was said before it, None for one that was never written."""
        for row in self._rows():
            if row["outcome"] == "error":
                yield None
            else:
                yield UserTurn(row["messages"], row["answer"] or "", row["text"] or "")
