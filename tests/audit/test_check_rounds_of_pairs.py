"""The audit draws rounds of pairs again from their turns, and shows both turns again."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.support.findings_of import said_of
from tests.support.job_records import job_record
from tests.support.made_up_results import made_up_config, save
from tests.support.paired_study import people_of, turns_of
from tests.support.snakemake_runs import ROOT
from userturn.audit.check_rounds import NOT_COMPARED, check_rounds
from userturn.audit.findings import Finding, not_compared
from userturn.humans.pairs import PER_CELL, draw_pairs
from userturn.storage.hashing import file_sha256
from userturn.study.grid import Grid
from userturn.workflow.humans import HumanGrid, PairGrid
from userturn.workflow.job_record import write_record
from userturn.workflow.study_files import Files

KEY, ITEMS = (f"results/pairs/pairs/{kind}.parquet" for kind in ("key", "items"))
TURNS = "results/cells/a-1b/d/t0/reference_answer/user_turns.parquet"
DATASET, MODEL = "results/datasets/d.parquet", "results/models/a-1b.json"
TAKEN = [TURNS, DATASET, MODEL]


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PairGrid:
    """A study that drew a round of six pairs of eight."""
    monkeypatch.chdir(ROOT)
    config = made_up_config(["a-1b"], ["d"], (0,), ("none", "reference_answer"), ("heuristic",))
    config["humans"] |= {"pairs": {"rounds": ["pairs"], "per_cell": 6}}
    results = tmp_path / "results"
    grid = PairGrid(HumanGrid(Grid(config, results)))
    answer = pl.struct(role=pl.lit("assistant"), content=pl.lit("An answer of the dataset."))
    items = people_of(8).with_columns(
        reference_context=pl.concat_list("messages", pl.concat_list(answer))
    )
    (results / "models").mkdir(parents=True)
    (results / "models" / "a-1b.json").write_text(json.dumps({"stop": ["<|im_end|>"]}))
    save(turns_of(8), tmp_path / TURNS)
    save(items, tmp_path / DATASET)
    (results / "pairs" / "pairs").mkdir(parents=True)
    draw_pairs(
        grid,
        "pairs",
        str(tmp_path / KEY),
        str(tmp_path / ITEMS),
        paths_to_user_turns=[str(tmp_path / TURNS)],
        paths_to_datasets=[str(tmp_path / DATASET)],
        paths_to_descriptions=[str(tmp_path / MODEL)],
        paths_to_earlier_keys=[],
    )
    note(results)
    return grid


def note(results: Path) -> None:
    """Record what the round was drawn from."""
    content = job_record(
        "draw_pairs",
        wildcards={"round": "pairs"},
        inputs={path: file_sha256(results.parent / path) for path in TAKEN},
        outputs={path: file_sha256(results.parent / path) for path in (KEY, ITEMS)},
    )
    write_record(results / "provenance/draw_pairs/pairs.json", content)


def found(pairs: PairGrid) -> list[str]:
    checked = said_of(
        check_rounds(Files(pairs.grid.results, {}), HumanGrid(pairs.grid), pairs, frozenset())
    )
    of_pairs = [item for item in checked if item.artifact.startswith("results/pairs/")]
    return [f"{i.artifact}: {i.expected if isinstance(i, Finding) else f'{i}'}" for i in of_pairs]


def test_a_round_that_follows_from_its_turns_has_no_finding(pairs: PairGrid) -> None:
    assert pl.read_parquet(pairs.grid.results.parent / KEY).height == 6
    assert found(pairs) == []


def test_a_round_stays_right_where_the_config_asks_for_more_since(pairs: PairGrid) -> None:
    pairs.per_cell = 8
    assert found(pairs) == []


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        (KEY, lambda t: t.with_columns(person=pl.lit("first")), "person of"),
        (KEY, lambda t: t.with_columns(key=pl.col("key").reverse()), "key of"),
        (KEY, lambda t: t[1:], "rows"),
        (ITEMS, lambda t: t.with_columns(turns=pl.col("turns").list.reverse()), "turns of"),
        (ITEMS, lambda t: t.with_columns(conversation=pl.col("conversation").list.head(1)), "conv"),
        (KEY, lambda t: t.with_columns(seen=pl.lit("yes")), "columns"),
        (ITEMS, lambda t: t.select(reversed(t.columns)), "columns"),
    ],
)
def test_an_edit_of_a_round_and_of_its_copy_is_found(
    pairs: PairGrid, path: str, change: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    edited = pairs.grid.results.parent / path
    kept = {PER_CELL: pl.read_parquet_metadata(edited).get(PER_CELL, "")}
    change(pl.read_parquet(edited)).write_parquet(edited, metadata=kept)
    (finding,) = found(pairs)
    assert finding.startswith(f"{path}: ") and said in finding


def test_a_round_whose_turns_have_changed_since_is_noted_and_not_accused(pairs: PairGrid) -> None:
    rewritten = pairs.grid.results.parent / TURNS
    save(pl.read_parquet(rewritten)[1:], rewritten)
    assert found(pairs) == [f"{path}: {not_compared(path, NOT_COMPARED)}" for path in (KEY, ITEMS)]
