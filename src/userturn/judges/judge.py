"""A judge of the study, the cells whose turns it reads in slices, and its verdicts on one."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from userturn.endpoints.budget import Account
from userturn.endpoints.usage import Price
from userturn.judges.kinds import kind_of
from userturn.judges.verdict import UserTurn, Verdict
from userturn.storage.hashing import fingerprint, short_hash
from userturn.storage.table_files import (
    PART,
    SLICE,
    TURN_COLUMNS,
    TURN_KEYS,
    Schema,
    slices,
    write_parts,
)


@dataclass(frozen=True)
class Judge:
    """A judge of the study, with its budget and limits."""

    name: str
    settings: Mapping[str, Any]
    results: Path
    accounts: Path  # folder of the accounts of all judges
    prices: Mapping[str, Price]  # prices of all judges that have one, by name
    cap: float | None  # money that all judges together may never exceed, or None
    max_error_share: float  # largest allowed share of errors in a cell
    max_unscored_share: float = 1.0  # the same of unscored turns, errors included
    # The names under which renamed datasets were first asked.
    places: Mapping[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()  # of all judges that the study has
    datasets: frozenset[str] | None = None  # names of datasets in journals, None if unknown

    def journal(self, dataset: str) -> Path:
        """Return the folder of this judge's journal about a dataset's cells."""
        name = self.places.get(dataset, dataset)
        return self.results / "journal" / "judges" / self.name / name

    def account(self, cell: str) -> Account:
        """Return a new account for one cell."""
        price = self.prices.get(self.name)
        asked_as = fingerprint([self.settings.get(key) for key in ("model", "settings", "reply")])
        prices, short = self.prices, short_hash(asked_as)
        return Account(self.accounts, self.name, cell, price, self.cap, prices, short)


@dataclass(frozen=True)
class CellToJudge:
    """The turns of a cell, or a slice of them, read from disk with the items they belong to."""

    path_to_user_turns: str
    path_to_items: str
    first: int = 0  # number of the first turn, from 0
    n_turns: int | None = None  # number of turns, None for all that follow

    def name(self, results: Path) -> str:
        """Return the path of the cell's folder, relative to the results."""
        return os.path.relpath(Path(self.path_to_user_turns).parent, results)

    @property
    def which(self) -> str:
        """The range of turns, for messages, empty for the whole cell."""
        n = self.n_turns
        return "" if n is None else f", turns {self.first + 1} to {self.first + n}"

    @property
    def dataset(self) -> str:
        """The name of the cell's dataset."""
        turns = pl.scan_parquet(self.path_to_user_turns).select(pl.col("dataset").first())
        return str(turns.collect().item())

    def parts(self, size: int = PART) -> list["CellToJudge"]:
        """Return the cell in parts of `size` turns, and one part if it is empty."""
        n = self._turns().select(pl.len()).collect().item()
        if n <= size:
            return [self]
        begins = range(0, n, size)
        return [replace(self, first=first, n_turns=min(size, n - first)) for first in begins]

    def columns(self, *names: str) -> pl.DataFrame:
        """Return some columns of the table of user turns."""
        return self._turns().select(names).collect()

    def user_turns(self) -> Iterator[UserTurn | None]:
        """Yield each turn with its conversation, or None if the turn was never written."""
        items = pl.scan_parquet(self.path_to_items).select("item", "messages")
        places = items.select("item").with_row_index("place").collect()
        for part in slices(self._turns().select("item", "answer", "outcome", "text"), SLICE):
            positions = part.join(places, on="item")[
                "place"
            ].sort()  # near each other, like the turns
            here = (
                items.slice(positions[0], positions[-1] - positions[0] + 1)
                if len(positions)
                else items.clear()
            )
            joined = part.join(here.collect(), on="item", how="left", maintain_order="left")
            for row in joined.iter_rows(named=True):
                texts = row["answer"] or "", row["text"] or ""
                yield None if row["outcome"] == "error" else UserTurn(row["messages"], *texts)

    def _turns(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.path_to_user_turns).slice(self.first, self.n_turns)


OF_A_VERDICT: Schema = {
    "label": pl.String,
    "genuine": pl.Boolean,
    "rationale": pl.String,
    "unscored_reason": pl.String,
}
VERDICTS_SCHEMA: Schema = {**TURN_COLUMNS, "judge": pl.String, **OF_A_VERDICT}
# Only in the files of judges that give probabilities.
OF_SOME: Schema = {
    "probabilities": pl.List(pl.Struct({"label": pl.String, "probability": pl.Float64}))
}


def judge_cell(
    judge: Judge,
    identity: str,
    n_at_once: int,
    path_to_items: str,
    path_to_user_turns: str,
    path_to_verdicts: str,
) -> None:
    """Write one judge's verdict on every user turn of a cell, a part of the cell at a time."""
    cell = CellToJudge(path_to_user_turns, path_to_items)
    judged = kind_of(judge.settings).verdicts(judge, cell, n_at_once)
    tables = (verdicts_table(judge, part, verdicts) for part, verdicts in judged)
    write_parts(tables, path_to_verdicts, identity)


def scan_verdicts(paths: Iterable[str]) -> pl.LazyFrame:
    """Return the verdicts of several judges, without the columns that only some of them have."""
    return pl.scan_parquet(sorted(paths), extra_columns="ignore").drop(*OF_SOME, strict=False)


def verdicts_table(judge: Judge, cell: CellToJudge, verdicts: Sequence[Verdict]) -> pl.DataFrame:
    """Return a judge's verdicts as a table, one row per turn of the cell.

    If the judge's kind gives probabilities, the table also has a column `probabilities`.
    """
    judged = (
        cell.columns(*TURN_KEYS, "outcome", "error")
        .with_columns(
            *(
                pl.Series(name, [getattr(verdict, name) for verdict in verdicts], dtype)
                for name, dtype in OF_A_VERDICT.items()
            ),
            judge=pl.lit(judge.name),
        )
        .with_columns(
            unscored_reason=pl.when(pl.col("outcome") == "error")
            .then(pl.format("no user turn: {}", "error"))
            .otherwise("unscored_reason")
        )
    )
    table = judged.select(list(VERDICTS_SCHEMA))
    if not kind_of(judge.settings).HAS_PROBABILITIES:
        return table
    listed = [
        None
        if v.probabilities is None
        else [{"label": label, "probability": p} for label, p in v.probabilities.items()]
        for v in verdicts
    ]
    return table.with_columns(pl.Series(name, listed, kind) for name, kind in OF_SOME.items())
