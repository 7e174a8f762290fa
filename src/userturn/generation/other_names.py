"""Replies under other names, which renamed requests and other requests of the same ask take over.

Key and seed of a request hold the names that its dataset and item had when it was asked. A request
that has no reply under its own names takes over one with the same ask under other names. Where a
seed shapes the reply, no equal item may have those names any more. An ask alone is no proof: the
key, which has the prompt's tokens, must be the reply's, too.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from userturn.generation.plan_files import AnyPlan, Plan, ScoringPlan
from userturn.models.requests import derive_seed, request_key, scoring_request
from userturn.storage.files import read_artifact
from userturn.storage.journal import is_without_asks
from userturn.storage.journal_table import finished_keys, read_asked
from userturn.storage.table_files import write_table
from userturn.study.asks import scan_plans

PLANNER_VERSION = 1  # version of the reasons why no request is made
Name = tuple[str, str]  # a dataset as it was asked, and an item


@dataclass
class OtherNames:
    """A finder of one model's replies under other names.

    Attributes:
        present: by the name of each item that the study has, the hash of its messages.
    """

    identity: Mapping[str, Any]
    seed: int
    present: Mapping[Name, str]
    _occupied: dict[tuple[str, Name], Name] = field(default_factory=dict)

    def take_over(self, plan: AnyPlan, finished: set[str], folder: Path) -> bool:
        """Give requests without a reply the names of replies that no other item claims.

        Args:
            plan: the plan, whose table is written again if a name changes.
            finished: the keys that have a reply.
            folder: the folder of the model's journals.

        Returns:
            Whether any request was renamed.
        """
        columns = ["key", "ask", "asked_as", "item"]
        requests = scan_plans([plan.path]).select(columns).drop_nulls("key").collect()
        lacking = requests.filter(~pl.col("key").is_in(finished))
        folders = [path for path in sorted(folder.glob("[!.]*")) if path.is_dir()]
        if lacking.is_empty() or not folders:
            return False
        changes = self._changes(plan, set(lacking["key"]), self._replies(lacking, folders), folders)
        if changes:
            _write_again(plan, changes)
        return bool(changes)

    def rename(self, plan: AnyPlan, names: Mapping[str, Name]) -> None:
        """Give the rows of a plan other names, listed by their present keys."""
        rows = pl.read_parquet(plan.path).filter(pl.col("key").is_in(list(names)))
        changes = {
            row["key"]: self._renamed(plan, row, names[row["key"]])
            for row in rows.iter_rows(named=True)
            if names[row["key"]] != (row["asked_as"], row["item"])
        }
        if changes:
            _write_again(plan, changes)

    def _replies(self, lacking: pl.DataFrame, folders: list[Path]) -> dict[str, list[Name]]:
        rows = read_asked(folders, lacking["key"].head(0), lacking["ask"].drop_nulls())
        names_by_ask: defaultdict[str, set[Name]] = defaultdict(set)
        replied = rows.filter(pl.col("outcome").fill_null("") != "error", pl.col("error").is_null())
        for ask, *name in replied.select("ask", "asked_as", "item").drop_nulls().iter_rows():
            names_by_ask[ask].add((name[0], name[1]))
        return {ask: sorted(names) for ask, names in names_by_ask.items()}

    def _changes(
        self,
        plan: AnyPlan,
        lacking: set[str],
        replies: Mapping[str, list[Name]],
        folders: list[Path],
    ) -> dict[str, dict[str, Any]]:
        rows = pl.read_parquet(plan.path).filter(pl.col("key").is_in(lacking))
        tried = [
            (row, name, self._renamed(plan, row, name))
            for row in rows.iter_rows(named=True)
            for name in self._candidates(plan, row, replies, folders)
        ]
        keys = pl.Series([request["key"] for *_, request in tried], dtype=pl.String)
        there, changes = finished_keys(folders, keys), dict[str, dict[str, Any]]()
        for row, name, request in tried:
            key, ask, own = row["key"], row["ask"], (row["asked_as"], row["item"])
            is_free = not has_seed(plan) or self._occupied.get((ask, name), own) == own
            if key not in changes and request["key"] in there and is_free:
                self._occupied[ask, name] = own
                changes[key] = request
        return changes

    def _candidates(
        self,
        plan: AnyPlan,
        row: Mapping[str, Any],
        replies: Mapping[str, list[Name]],
        folders: list[Path],
    ) -> Iterator[Name]:
        """Yield the names that a row may take over.

        In a journal without asks, the item may have had its id in another dataset.
        """
        own = row["asked_as"], row["item"]
        noted = replies.get(row["ask"], [])
        unnoted = [(path.name, row["item"]) for path in folders if is_without_asks(path)]
        for name in dict.fromkeys([*noted, *unnoted]):
            if name != own and (not has_seed(plan) or not self._is_claimed(name, own)):
                yield name

    def _is_claimed(self, name: Name, own: Name) -> bool:
        """Return whether an item with this name and the same messages is in the study."""
        return name in self.present and self.present[name] == self.present.get(own)

    def _renamed(self, plan: AnyPlan, row: Mapping[str, Any], name: Name) -> dict[str, Any]:
        dataset, item = name
        own = {"asked_as": dataset}
        if isinstance(plan, ScoringPlan):
            scored = row["token_ids"], row["n_context"]
            return own | {"key": scoring_request(self.identity, dataset, item, *scored).key}
        sample, prompt = row["sample"], row["prompt_token_ids"]
        is_seeded = has_seed(plan)
        seed = derive_seed(self.seed, plan.role, dataset, item, sample) if is_seeded else None
        sampling = vars(replace(plan.sampling, seed=seed))
        key = request_key(self.identity, dataset, sample, prompt, sampling)
        return own | {"key": key, "seed": seed, "asked_item": item}


def has_seed(plan: AnyPlan) -> bool:
    """Return whether each item needs a reply of its own, because its seed shapes the reply."""
    return isinstance(plan, Plan) and plan.sampling.temperature > 0


def _write_again(plan: AnyPlan, changes: Mapping[str, Mapping[str, Any]]) -> None:
    table = pl.read_parquet(plan.path)
    rows = [{**row, **changes.get(row["key"], {})} for row in table.iter_rows(named=True)]
    noted = read_artifact(plan.path)
    table = pl.DataFrame(rows, schema=table.schema)
    write_table(table, plan.path, noted["identity"], model=noted["model"])


def finished_of(asked: pl.DataFrame) -> set[str]:
    """Return the keys that have a record without an error."""
    return {*asked.drop_nulls("key").filter(pl.col("outcome") != "error")["key"]}


def new_notes(plan: AnyPlan, asked: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the notes on a plan's requests that the journal rows in `asked` lack."""
    of = pl.coalesce("key", "of")
    asks = {*asked.select(of, "ask").iter_rows()}
    refused = asked.filter(of.is_null(), pl.col("planner") == PLANNER_VERSION)
    reasons = {*refused.select("ask", "error").iter_rows()}
    there = finished_of(asked)
    columns = ["key", "ask", "asked_as", "asked_item", "item", "error"]
    rows = scan_plans([plan.path]).select(columns).collect()
    for key, ask, dataset, name, item, error in rows.iter_rows():
        note = {"ask": ask, "asked_as": dataset, "item": name or item}
        if key is None and ask is not None and (ask, error) not in reasons:
            reasons.add((ask, error))
            yield {**note, "of": None, "error": error, "planner": PLANNER_VERSION}
        elif key in there and ask is not None and (key, ask) not in asks:
            asks.add((key, ask))
            yield {**note, "of": key}
