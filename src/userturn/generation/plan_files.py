"""Plans: tables beside the journal with one row per request, read by the sweep and by collection.

Each shard of a model's items has its own plan. Columns of plans of texts: position, item, sample,
key, seed, prompt_text, prompt_token_ids, answer (as the model is shown it, or its own under
`header_only`, which shows none), change (JSON), error, `ask` (`study.asks`), and `asked_as` and
`asked_item`, the names of dataset and item in key and seed. A plan of scores has one row per turn
and context. A sweep writes and reads plans a few rows at a time, because the prompts are large.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import merge
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from userturn.datasets.turns import cluster_of
from userturn.models.requests import AnyRequest, Request, Sampling, ScoringRequest
from userturn.prompts.chat_template import Prompt
from userturn.storage.hashing import fingerprint
from userturn.storage.table_files import PLAN_SLICE, Schema, slices, table_writer
from userturn.study.asks import NAMES, scan_plans
from userturn.study.grid import Grid

PLAN_SCHEMA: Schema = {
    "position": pl.Int64,
    "item": pl.String,
    "sample": pl.Int64,
    "key": pl.String,
    "seed": pl.Int64,
    "prompt_text": pl.String,
    "prompt_token_ids": pl.List(pl.Int32),
    "answer": pl.String,
    "change": pl.String,
    "error": pl.String,
    **NAMES,
}
WHOLE = "1of1"  # the shard of a model that is not split
Row = Mapping[str, Any]
LAST = 2**63 - 1  # larger than any position
ASKED = ["key", "position", "item", "sample", "seed", "prompt_text", "prompt_token_ids", *NAMES]


def shard_of(item: str, n_shards: int) -> int:
    """Return the number of an item's shard, from 1, where each shard is an interval of hashes."""
    return int(fingerprint(item)[:16], 16) * n_shards // 2**64 + 1


def is_in_shard(item: str, shard: str) -> bool:
    """Return whether an item belongs to a shard such as 1of4."""
    number, _, n_shards = shard.partition("of")
    return shard_of(item, int(n_shards)) == int(number)


def next_in_hash_order(
    items: Iterable[str], contents: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return for each item the item with the next hash, and for the last item the first.

    Shards are intervals of the hash, so the next item is nearly always in the same shard. Items of
    the same conversation are passed over. So are items of the same content, if `contents` has the
    hash of each item's messages. A single item or conversation has no next one.
    """
    ordered = sorted(items, key=fingerprint)
    of, n = [cluster_of(item) for item in ordered], len(ordered)
    what = list(range(n)) if contents is None else [contents[item] for item in ordered]
    following = {}
    for i, item in enumerate(ordered):
        after = (j % n for j in range(i + 1, i + n))
        others = (ordered[j] for j in after if of[j] != of[i] and what[j] != what[i])
        if (other := next(others, None)) is not None:
            following[item] = other
    return following


def plan_path(grid: Grid, model: str, dataset: str, identity: str, shard: str) -> Path:
    """Return the path of a shard's plan."""
    return grid.requests_folder(model, dataset, identity) / f"{shard}.parquet"


def plan_paths(grid: Grid, model: str, dataset: str, identity: str, shard: str) -> list[Path]:
    """Return the paths of the plans that have a shard's requests.

    They are the shard's own plan, or all plans if it has none, as after a change of their number.
    """
    own = plan_path(grid, model, dataset, identity, shard)
    return [own] if own.is_file() else sorted(own.parent.glob("[!.]*.parquet"))


@dataclass(frozen=True)
class Plan:
    """A plan on disk of texts to generate, which share all sampling settings but the seed.

    `role` is the writer's, as it enters the seeds.
    """

    path: Path
    dataset: str
    sampling: Sampling
    role: str = "user"

    def requests(self) -> Iterator[tuple[int, Request]]:
        """Yield position and request of every row that has one, in order."""
        for part in slices(scan_plans([self.path]).select(ASKED), PLAN_SLICE):
            for row in part.drop_nulls("key").iter_rows(named=True):
                yield row["position"], self._request(row)

    def _request(self, row: Row) -> Request:
        prompt = Prompt(row["prompt_text"], tuple(row["prompt_token_ids"]))
        sampling = replace(self.sampling, seed=row["seed"])
        names = row["asked_item"] or row["item"], row["sample"]
        return Request(
            row["key"], self.dataset, *names, prompt, sampling, row["ask"], row["asked_as"]
        )


@dataclass(frozen=True)
class ScoringPlan:
    """A plan on disk of turns to score."""

    path: Path
    dataset: str

    def requests(self) -> Iterator[tuple[int, ScoringRequest]]:
        """Yield position and request of every row that has one, in order."""
        columns = ["position", "key", "item", "token_ids", "n_context", "ask", "asked_as"]
        for part in slices(scan_plans([self.path]).select(columns), PLAN_SLICE):
            for position, key, item, ids, n, *names in part.drop_nulls("key").iter_rows():
                yield position, ScoringRequest(key, self.dataset, item, tuple(ids), n, *names)


AnyPlan = Plan | ScoringPlan


def requests_in_order(plans: Iterable[AnyPlan]) -> Iterator[AnyRequest]:
    """Yield the requests of several plans, with the requests of an item side by side."""
    numbered: list[Iterator[tuple[int, AnyRequest]]] = [plan.requests() for plan in plans]
    return (request for _, request in merge(*numbered, key=itemgetter(0)))


@contextmanager
def plan_writer(
    path: Path, identity: str, model: Mapping[str, Any], schema: Schema = PLAN_SCHEMA
) -> Iterator[Callable[[Row], None]]:
    """Yield a function that adds a row to a plan, whose file appears when the block ends.

    The table's metadata hold a fingerprint of its model's identity.
    """
    rows: list[Row] = []
    with table_writer(schema, path, identity, model=fingerprint(model)) as write:

        def add(row: Row) -> None:
            rows.append(row)
            if len(rows) == PLAN_SLICE:
                flush()

        def flush() -> None:
            write(pl.DataFrame(rows, schema=schema))
            rows.clear()

        yield add
        if rows:
            flush()


def write_plan(
    rows: Iterable[Row],
    path: Path,
    identity: str,
    model: Mapping[str, Any],
    schema: Schema = PLAN_SCHEMA,
) -> None:
    """Write the rows of a plan as they are made."""
    with plan_writer(path, identity, model, schema) as add:
        for row in rows:
            add(row)


def plan_keys(paths: Iterable[Path]) -> pl.Series:
    """Return the keys of all requests in some plans."""
    return scan_plans(paths).select("key").drop_nulls().collect()["key"]


def read_plan(folder: Path, n_rows: int = LAST) -> Iterator[pl.DataFrame]:
    """Yield the plan of all shards in dataset order, each row once, though two shards have it.

    Each part has `n_rows` rows, or a few more, since an item's rows stay together.
    """
    shards = scan_plans(sorted(folder.glob("[!.]*.parquet"))).select(*PLAN_SCHEMA)
    positions = shards.select("position").collect()["position"].sort()
    begins = positions.gather_every(n_rows).unique(maintain_order=True).to_list() or [0]
    for begin, end in pairwise([*begins, LAST]):
        part = shards.filter(pl.col("position").is_between(begin, end, closed="left")).collect()
        once = part.unique(["position", "sample"], keep="first", maintain_order=True)
        yield once.sort("position", "sample")


def read_whole_plan(folder: Path) -> pl.DataFrame:
    """Return the plan of all shards, which `read_plan` yields in parts."""
    return next(read_plan(folder))
