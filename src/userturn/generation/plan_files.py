"""Plans: tables beside the journal with one row per request, read by the sweep and by collection.

Columns: position, item, sample, key, seed, prompt_text, prompt_token_ids, answer (as the model is
shown it; under `header_only`, where it is shown none, its own), change (JSON), error, `ask` (what
is asked for, `study.asks`), and `asked_as` and `asked_item`, the names of dataset and item in key
and seed. A sweep writes and reads them a few rows at a time, because the prompts are large.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import merge
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from userturn.generation.planner import Planned
from userturn.models.requests import AnyRequest, Request, Sampling
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
LAST = 2**63 - 1  # larger than any position
ASKED = ["key", "position", "item", "sample", "seed", "prompt_text", "prompt_token_ids", *NAMES]


def plan_path(grid: Grid, model: str, dataset: str, identity: str, shard: str) -> Path:
    """Return the path of a shard's plan."""
    return grid.requests_folder(model, dataset, identity) / f"{shard}.parquet"


def plan_paths(grid: Grid, model: str, dataset: str, identity: str, shard: str) -> list[Path]:
    """Return the paths of the plans that have a shard's requests.

    It is the shard's own, or those of all shards where the model had another number of them.
    """
    own = plan_path(grid, model, dataset, identity, shard)
    return [own] if own.is_file() else sorted(own.parent.glob("[!.]*.parquet"))


class WrittenPlan(Protocol):
    """A plan on disk: a table with one row per request to generate or to score."""

    @property
    def path(self) -> Path:
        """Path of its table, which has a column `key`."""

    @property
    def dataset(self) -> str:
        """Name of its dataset."""

    def requests(self) -> Iterator[tuple[int, AnyRequest]]:
        """Yield position and request of every row that has one, in order."""


@dataclass(frozen=True)
class Plan:
    """A plan on disk, and the sampling settings that all its requests share.

    Attributes:
        path: path of its table.
        dataset: name of its dataset.
        sampling: sampling settings of every request, except the seed.
        role: of the writer, as seeds have it.
    """

    path: Path
    dataset: str
    sampling: Sampling
    role: str = "user"

    def slices(self, *columns: str) -> Iterator[pl.DataFrame]:
        """Yield the given columns, a few rows at a time."""
        return slices(scan_plans([self.path]).select(columns), PLAN_SLICE)

    def requests(self) -> Iterator[tuple[int, Request]]:
        """Yield position and request of every row that has one, in order."""
        for part in self.slices(*ASKED):
            asked = part.drop_nulls("key").iter_rows(named=True)
            yield from ((row["position"], self._request(row)) for row in asked)

    def _request(self, row: Mapping[str, Any]) -> Request:
        prompt = Prompt(row["prompt_text"], tuple(row["prompt_token_ids"]))
        sampling = replace(self.sampling, seed=row["seed"])
        names = row["asked_item"] or row["item"], row["sample"]
        return Request(
            row["key"], self.dataset, *names, prompt, sampling, row["ask"], row["asked_as"]
        )


def requests_in_order(plans: Iterable[WrittenPlan]) -> Iterator[AnyRequest]:
    """Yield the requests of several plans, with the requests of an item side by side."""
    numbered = merge(*(plan.requests() for plan in plans), key=itemgetter(0))
    return (request for _, request in numbered)


def _row(planned: Planned) -> dict[str, Any]:
    request = planned.request
    return {
        "position": planned.position,
        "item": planned.item,
        "sample": planned.sample,
        "key": request and request.key,
        "seed": request and request.sampling.seed,
        "prompt_text": request and request.prompt.text,
        "prompt_token_ids": request and request.prompt.token_ids,
        "answer": planned.answer,
        "change": planned.change,
        "error": planned.error,
        "ask": planned.ask,
        "asked_as": planned.asked_as,
        "asked_item": planned.item,
    }


@contextmanager
def plan_writer(
    path: Path, identity: str, model: Mapping[str, Any]
) -> Iterator[Callable[[Planned], None]]:
    """Yield a function that adds a row to a plan; the plan's file appears when the block ends.

    The table's metadata hold a fingerprint of its model's identity.
    """
    rows: list[dict[str, Any]] = []
    with table_writer(PLAN_SCHEMA, path, identity, model=fingerprint(model)) as write:

        def flush() -> None:
            write(pl.DataFrame(rows, schema=PLAN_SCHEMA))
            rows.clear()

        def add(planned: Planned) -> None:
            rows.append(_row(planned))
            if len(rows) == PLAN_SLICE:
                flush()

        yield add
        if rows:
            flush()


def write_plan(
    plan: Iterable[Planned], path: Path, identity: str, model: Mapping[str, Any]
) -> None:
    """Write the rows of a plan as they are made."""
    with plan_writer(path, identity, model) as add:
        for planned in plan:
            add(planned)


def plan_keys(paths: Iterable[Path]) -> pl.Series:
    """Return the keys of all requests in some plans."""
    return scan_plans(paths).select("key").drop_nulls().collect()["key"]


def read_plan(folder: Path, n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield the plan of all shards in dataset order; a row that two shards planned comes once.

    Args:
        folder: folder of the plan, with one table per shard.
        n_rows: number of rows in each part, or a few more, since an item's rows stay together.
    """
    shards = scan_plans(sorted(folder.glob("[!.]*.parquet"))).select(*PLAN_SCHEMA)
    positions = shards.select("position").collect()["position"].sort()
    begins = positions.gather_every(n_rows).unique(maintain_order=True).to_list() or [0]
    for begin, end in pairwise([*begins, LAST]):
        part = shards.filter(pl.col("position").is_between(begin, end, closed="left")).collect()
        yield _once_in_order(part)


def read_whole_plan(folder: Path) -> pl.DataFrame:
    """Return the plan of all shards, as `read_plan` yields it in parts."""
    paths = sorted(folder.glob("[!.]*.parquet"))
    return _once_in_order(scan_plans(paths).select(*PLAN_SCHEMA).collect())


def _once_in_order(rows: pl.DataFrame) -> pl.DataFrame:
    once = rows.unique(["position", "sample"], keep="first", maintain_order=True)
    return once.sort("position", "sample")
