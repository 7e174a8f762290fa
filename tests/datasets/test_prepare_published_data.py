"""The published datasets, read by the entries that are shipped, have the counts known of them."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.published_data import SHARED, needs_shared_data
from userturn.datasets.fetch import fetch
from userturn.datasets.prepare import read_dataset

ROOT = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())


def shared_items(name: str, file: str, **more: Any) -> list[dict[str, Any]]:
    """Read published data by the shipped entry, without what only holds of the hub's file."""
    of_the_hub = ("language", "limit", "sha256", "rows")
    entry = {k: v for k, v in CONFIG["datasets"][name].items() if k not in of_the_hub}
    return read_dataset(SHARED / file, entry | more)


@needs_shared_data
@pytest.mark.parametrize(
    ("name", "file", "n_items"),
    [
        ("gsm8k", "gsm8k/test.jsonl", 1319),
        ("math500", "math500/test.jsonl", 500),
        ("ifeval", "ifeval/input_data.jsonl", 541),
        ("ifbench", "ifbench/IFBench_test.jsonl", 300),
        ("healthbench", "healthbench/healthbench_eval.jsonl", 500),
    ],
)
def test_published_files_are_read_by_the_shipped_entries(
    name: str, file: str, n_items: int
) -> None:
    assert len(shared_items(name, file)) == n_items


@needs_shared_data
def test_published_math500_has_the_pinned_content() -> None:
    pinned = CONFIG["datasets"]["math500"]["sha256"]
    fetch({"file": SHARED / "math500/test.jsonl", "sha256": pinned})


@needs_shared_data
@pytest.mark.parametrize(
    ("file", "n_references", "n_english"),
    [
        ("healthbench_eval.jsonl", 213, 399),
        ("healthbench.jsonl", 245, 166),
        ("context_seeking_consensus_hard_104.jsonl", 53, 98),
    ],
)
def test_healthbench_has_so_many_second_user_turns_and_english_rows(
    file: str, n_references: int, n_english: int
) -> None:
    items = shared_items("healthbench", f"healthbench/{file}")
    assert sum(item["reference_user_turn"] is not None for item in items) == n_references
    english = shared_items("healthbench", f"healthbench/{file}", language="en")
    assert len(english) == n_english


@needs_shared_data
def test_oasst_has_380_human_turns_in_287_contexts_of_which_46_have_several() -> None:
    entry = CONFIG["datasets"]["oasst_human"]
    items = read_dataset(SHARED / "oasst_en100/en_100_tree.jsonl", {"fields": entry["fields"]})
    contexts = pl.Series([json.dumps(item["reference_context"]) for item in items])
    counts = contexts.value_counts()["count"]
    assert (len(items), len(counts), (counts > 1).sum()) == (380, 287, 46)
