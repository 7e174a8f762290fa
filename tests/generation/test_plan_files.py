"""A plan on disk gives back the requests that were planned, in an engine's order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from userturn.generation.plan_files import (
    PLAN_SCHEMA,
    Plan,
    read_plan,
    requests_in_order,
    write_plan,
)
from userturn.generation.planner import Planned
from userturn.models.requests import Request, Sampling
from userturn.prompts.chat_template import Prompt
from userturn.storage.files import read_identity
from userturn.storage.hashing import file_sha256
from userturn.storage.table_files import PLAN_SLICE

SAMPLING = Sampling(1.0, 1.0, 0, 0.0, 8, (2,), None)


def planned(position: int, key: str | None = None) -> Planned:
    item = f"item-{position}"
    if key is None:
        return Planned(position, item, 0, None, error="too long")
    sampling = Sampling(1.0, 1.0, 0, 0.0, 8, (2,), position)
    request = Request(key, "d", item, 0, Prompt(f"text of {key}", (1, position)), sampling)
    return Planned(position, item, 0, request, "the answer", "{}")


def written(path: Path, *rows: Planned) -> Plan:
    write_plan([row.columns for row in rows], path, "identity", {"source": "m"})
    return Plan(path, "d", SAMPLING)


def test_requests_come_back_as_they_were_planned(tmp_path: Path) -> None:
    row = planned(7, "a")
    plan = written(tmp_path / "p.parquet", planned(0), row)
    assert list(plan.requests()) == [(7, row.request)]
    assert read_identity(plan.path) == "identity"


def test_plan_of_more_rows_than_are_in_memory_at_once_is_whole(tmp_path: Path) -> None:
    plan = written(
        tmp_path / "p.parquet", *(planned(i, f"k{i}") for i in range(2 * PLAN_SLICE + 1))
    )
    assert [position for position, _ in plan.requests()] == list(range(2 * PLAN_SLICE + 1))
    parts = list(read_plan(tmp_path, PLAN_SLICE))
    assert [part.height for part in parts] == [PLAN_SLICE, PLAN_SLICE, 1]
    assert pl.concat(parts)["position"].to_list() == list(range(2 * PLAN_SLICE + 1))


def test_plan_of_as_many_rows_as_are_in_memory_at_once_has_no_empty_part(tmp_path: Path) -> None:
    plan = written(tmp_path / "p.parquet", *(planned(i, f"k{i}") for i in range(PLAN_SLICE)))
    assert pq.ParquetFile(plan.path).num_row_groups == 1


def test_plan_without_a_row_has_its_columns(tmp_path: Path) -> None:
    plan = written(tmp_path / "p.parquet")
    assert pl.read_parquet(plan.path).schema == PLAN_SCHEMA
    assert list(plan.requests()) == []
    (part,) = read_plan(tmp_path, PLAN_SLICE)
    assert part.is_empty() and part.schema == PLAN_SCHEMA


def test_requests_of_one_item_are_next_to_each_other(tmp_path: Path) -> None:
    one = written(tmp_path / "1.parquet", planned(0, "a"), planned(2, "b"))
    other = written(tmp_path / "2.parquet", planned(0, "c"), planned(1, "d"), planned(2, "e"))
    assert [request.key for request in requests_in_order([one, other])] == list("acdbe")


def test_equal_plans_are_byte_equal(tmp_path: Path) -> None:
    rows = [planned(i, f"k{i}") for i in range(3)]
    one, other = (written(tmp_path / name, *rows) for name in ("1.parquet", "2.parquet"))
    assert file_sha256(one.path) == file_sha256(other.path)


def test_planning_that_fails_leaves_no_plan(tmp_path: Path) -> None:
    def failing() -> Iterator[dict[str, Any]]:
        yield planned(0, "a").columns
        raise RuntimeError("no tokenizer")

    with pytest.raises(RuntimeError, match="no tokenizer"):
        write_plan(failing(), tmp_path / "p.parquet", "identity", {})
    assert list(tmp_path.iterdir()) == []
