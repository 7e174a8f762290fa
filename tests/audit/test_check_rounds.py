"""The audit draws rounds for people again from their samples, and shows their turns again."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.support.annotation_rounds import LABELS, study
from tests.support.findings_of import said_of
from tests.support.job_records import job_record
from tests.support.made_up_results import made_up_config, save
from tests.support.snakemake_runs import ROOT
from userturn.audit.check_rounds import NOT_COMPARED, OTHER_LIMITS, check_rounds
from userturn.audit.findings import Finding, not_compared
from userturn.humans.rounds import ASKED_FIRST, draw_annotation_round
from userturn.humans.sample import human_sample
from userturn.storage.hashing import file_sha256
from userturn.study.grid import Grid
from userturn.workflow.humans import HumanGrid, PairGrid
from userturn.workflow.job_record import write_record
from userturn.workflow.study_files import Files

KEY, ITEMS = (f"results/humans/first/{kind}.parquet" for kind in ("key", "items"))
CELL = "results/cells/a-1b/d/t0/none"
TAKEN = [f"{CELL}/human_sample.parquet", f"{CELL}/user_turns.parquet"]
TAKEN += ["results/datasets/d.parquet", "results/models/a-1b.json"]


@pytest.fixture
def humans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HumanGrid:
    """A study that drew a round of twelve turns, two of each label: per label, at least one."""
    monkeypatch.chdir(ROOT)
    config = made_up_config(["a-1b"], ["d"], (0,), ("none",), ("heuristic",))
    config["humans"] |= {"minimum_per_family": 9}
    results = tmp_path / "results"
    grid = HumanGrid(Grid(config, results))
    turns, verdicts = study([*LABELS, *LABELS], judge="heuristic")
    sample = human_sample(turns, verdicts, config["humans"], config["seed"])
    asked = [[{"role": "user", "content": "Why?"}]] * turns.height
    items = turns.select("item", messages=pl.Series(asked))
    (results / "models").mkdir(parents=True)
    (results / "models" / "a-1b.json").write_text(json.dumps({"stop": ["<|im_end|>"]}))
    for path, table in zip(TAKEN, (sample, turns, items), strict=False):
        save(table, tmp_path / path)
    (results / "humans" / "first").mkdir(parents=True)
    samples, of_cells, datasets, models = ([str(tmp_path / path)] for path in TAKEN)
    draw_annotation_round(
        grid,
        "first",
        str(tmp_path / KEY),
        str(tmp_path / ITEMS),
        paths_to_samples=samples,
        paths_to_user_turns=of_cells,
        paths_to_datasets=datasets,
        paths_to_descriptions=models,
        paths_to_earlier_keys=[],
        paths_to_earlier_annotations=[],
    )
    note(results, TAKEN)
    return grid


def note(results: Path, inputs: list[str]) -> None:
    """Record what the round was drawn from."""
    content = job_record(
        "draw_annotation_round",
        wildcards={"round": "first"},
        inputs={path: file_sha256(results.parent / path) for path in inputs},
        outputs={path: file_sha256(results.parent / path) for path in (KEY, ITEMS)},
    )
    write_record(results / "provenance/draw_annotation_round/first.json", content)


def save_as_drawn(table: pl.DataFrame, path: Path) -> None:
    """Replace a table of a round by another with the same metadata."""
    noted = pl.read_parquet_metadata(path)
    kept = {name: noted[name] for name in ("allocation", ASKED_FIRST) if name in noted}
    table.write_parquet(path, metadata=kept)


def found(humans: HumanGrid) -> list[str]:
    files = Files(humans.grid.results, {})
    items = said_of(check_rounds(files, humans, PairGrid(humans), frozenset()))
    return [f"{i.artifact}: {i.expected if isinstance(i, Finding) else f'{i}'}" for i in items]


def test_a_round_that_follows_from_its_samples_has_no_finding(humans: HumanGrid) -> None:
    assert pl.read_parquet(humans.grid.results.parent / KEY).height == 9
    assert found(humans) == []


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        (KEY, lambda t: t.with_columns(inclusion_probability=pl.lit(0.25)), "inclusion_"),
        (KEY, lambda t: t.with_columns(stratum=pl.col("stratum").reverse()), "rows"),
        (KEY, lambda t: t.with_columns(key=pl.col("key").reverse()), "key of"),
        (KEY, lambda t: t.filter(pl.col("stratum") != "generic"), "rows"),
        (ITEMS, lambda t: t.with_columns(turn=pl.lit("And then?")), "turn of"),
        (ITEMS, lambda t: t.with_columns(conversation=pl.col("conversation").list.head(1)), "conv"),
        (KEY, lambda t: t.with_columns(seen=pl.lit("yes")), "columns"),
        (ITEMS, lambda t: t.select(reversed(t.columns)), "columns"),
        (ITEMS, lambda t: t.reverse(), "order"),
    ],
)
def test_an_edit_of_a_round_and_of_its_copy_is_found(
    humans: HumanGrid, path: str, change: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    edited = humans.grid.results.parent / path
    save_as_drawn(change(pl.read_parquet(edited)), edited)
    (finding,) = found(humans)
    assert finding.startswith(f"{path}: ") and said in finding


def test_a_round_of_before_is_in_the_order_of_ids(humans: HumanGrid) -> None:
    items = humans.grid.results.parent / ITEMS
    in_order = pl.read_parquet(items).sort("id")
    in_order.write_parquet(items)
    assert found(humans) == []
    in_order.reverse().write_parquet(items)
    assert found(humans) == [f"{ITEMS}: turns in the order in which people are asked for them"]


def test_an_order_by_other_limits_than_the_study_has_now_accuses_nobody(humans: HumanGrid) -> None:
    limits = dict.fromkeys(("min_sensitivity", "min_specificity"), 0.05)
    humans.grid.config["judge_card"] |= limits
    assert found(humans) == [f"{ITEMS}: {not_compared(ITEMS, OTHER_LIMITS)}"]


def test_a_sample_of_another_cell_is_found_though_the_record_has_its_hash(
    humans: HumanGrid,
) -> None:
    sample = humans.grid.results.parent / TAKEN[0]
    save(pl.read_parquet(sample).with_columns(perturbation=pl.lit("truncate")), sample)
    note(humans.grid.results, TAKEN)
    assert f"{TAKEN[0]}: turns of its cell" in found(humans)


def test_a_round_whose_samples_have_changed_since_is_noted_and_not_accused(
    humans: HumanGrid,
) -> None:
    rewritten = humans.grid.results.parent / TAKEN[0]
    save(pl.read_parquet(rewritten)[1:], rewritten)
    changed = [f"{path}: {not_compared(path, NOT_COMPARED)}" for path in (KEY, ITEMS)]
    assert found(humans) == changed
    note(humans.grid.results, [])  # as a later run that takes the drawn round from its folder
    assert found(humans) == changed


def test_a_round_without_turns_of_a_study_without_cells_for_it_is_as_it_should_be(
    humans: HumanGrid,
) -> None:
    for path in (KEY, ITEMS):
        drawn = humans.grid.results.parent / path
        save(pl.read_parquet(drawn).clear(), drawn)
    note(humans.grid.results, [])
    assert found(humans) == []
