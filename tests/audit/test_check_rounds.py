"""The audit draws rounds of turns and of pairs again, and shows their turns again."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from tests.support.annotation_rounds import LABELS, study
from tests.support.findings_of import said_of
from tests.support.job_records import job_record
from tests.support.made_up_results import made_up_config, save
from tests.support.paired_study import people_of, turns_of
from tests.support.snakemake_runs import ROOT
from userturn.audit.check_rounds import NOT_COMPARED, OTHER_LIMITS, check_rounds
from userturn.audit.findings import Finding, not_compared
from userturn.humans.pairs import PER_CELL, draw_pairs
from userturn.humans.rounds import ASKED_FIRST, draw_annotation_round
from userturn.humans.sample import human_sample
from userturn.storage.hashing import file_sha256
from userturn.study.grid import Grid
from userturn.workflow.humans import HumanGrid, PairGrid
from userturn.workflow.job_record import write_record
from userturn.workflow.study_files import Files

KEY, ITEMS = DRAWN = [f"results/humans/first/{kind}.parquet" for kind in ("key", "items")]
PAIR_KEY, PAIRS = PAIRS_DRAWN = [f"results/pairs/pairs/{kind}.parquet" for kind in ("key", "items")]
CELL, MODEL = "results/cells/a-1b/d/t0/none", "results/models/a-1b.json"
TAKEN = [f"{CELL}/human_sample.parquet", f"{CELL}/user_turns.parquet"]
TAKEN += ["results/datasets/d.parquet", MODEL]
PAIRED = ["results/cells/a-1b/d/t0/reference_answer/user_turns.parquet", *TAKEN[2:]]


def describe(project: Path) -> None:
    """Write the description of the model, whose marks are not shown."""
    (project / MODEL).parent.mkdir(parents=True)
    (project / MODEL).write_text(json.dumps({"stop": ["<|im_end|>"]}))


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
    describe(tmp_path)
    for path, table in zip(TAKEN, (sample, turns, items), strict=False):
        save(table, tmp_path / path)
    (results / "humans" / "first").mkdir(parents=True)
    samples, of_cells, datasets, models = ([str(tmp_path / path)] for path in TAKEN)
    draw_annotation_round(
        grid,
        "first",
        *(str(tmp_path / path) for path in DRAWN),
        paths_to_samples=samples,
        paths_to_user_turns=of_cells,
        paths_to_datasets=datasets,
        paths_to_descriptions=models,
        paths_to_earlier_keys=[],
        paths_to_earlier_annotations=[],
    )
    note(results, TAKEN)
    return grid


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
    describe(tmp_path)
    for path, table in zip(PAIRED, (turns_of(8), items), strict=False):
        save(table, tmp_path / path)
    (results / "pairs" / "pairs").mkdir(parents=True)
    of_cells, datasets, models = ([str(tmp_path / path)] for path in PAIRED)
    draw_pairs(
        grid,
        "pairs",
        *(str(tmp_path / path) for path in PAIRS_DRAWN),
        paths_to_user_turns=of_cells,
        paths_to_datasets=datasets,
        paths_to_descriptions=models,
        paths_to_earlier_keys=[],
    )
    note(results, PAIRED, "draw_pairs", PAIRS_DRAWN)
    return grid


def note(
    results: Path,
    inputs: Sequence[str],
    rule: str = "draw_annotation_round",
    drawn: Sequence[str] = DRAWN,
) -> None:
    """Record what a round was drawn from."""
    name = drawn[0].split("/")[2]
    taken, made = ({p: file_sha256(results.parent / p) for p in one} for one in (inputs, drawn))
    record = job_record(rule, wildcards={"round": name}, inputs=taken, outputs=made)
    write_record(results / f"provenance/{rule}/{name}.json", record)


def save_as_drawn(table: pl.DataFrame, path: Path) -> None:
    """Replace a table of a round by another with the same metadata."""
    noted = pl.read_parquet_metadata(path)
    kept = {name: noted[name] for name in ("allocation", ASKED_FIRST, PER_CELL) if name in noted}
    table.write_parquet(path, metadata=kept)


def found(humans: HumanGrid, pairs: PairGrid | None = None) -> list[str]:
    """Return what is found of the round of turns, or of that of pairs."""
    files = Files(humans.grid.results, {})
    checked = said_of(check_rounds(files, humans, pairs or PairGrid(humans), frozenset()))
    items = [item for item in checked if not pairs or item.artifact in PAIRS_DRAWN]
    return [f"{i.artifact}: {i.expected if isinstance(i, Finding) else f'{i}'}" for i in items]


def of_pairs(pairs: PairGrid) -> list[str]:
    return found(HumanGrid(pairs.grid), pairs)


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
    changed = [f"{path}: {not_compared(path, NOT_COMPARED)}" for path in DRAWN]
    assert found(humans) == changed
    note(humans.grid.results, [])  # as a later run that takes the drawn round from its folder
    assert found(humans) == changed


def test_a_round_without_turns_of_a_study_without_cells_for_it_is_as_it_should_be(
    humans: HumanGrid,
) -> None:
    for path in DRAWN:
        drawn = humans.grid.results.parent / path
        save(pl.read_parquet(drawn).clear(), drawn)
    note(humans.grid.results, [])
    assert found(humans) == []


def test_pairs_that_follow_from_their_turns_have_no_finding(pairs: PairGrid) -> None:
    assert pl.read_parquet(pairs.grid.results.parent / PAIR_KEY).height == 6
    assert of_pairs(pairs) == []


def test_pairs_stay_right_where_the_config_asks_for_more_since(pairs: PairGrid) -> None:
    pairs.per_cell = 8
    assert of_pairs(pairs) == []


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        (PAIR_KEY, lambda t: t.with_columns(person=pl.lit("first")), "person of"),
        (PAIR_KEY, lambda t: t.with_columns(key=pl.col("key").reverse()), "key of"),
        (PAIR_KEY, lambda t: t[1:], "rows"),
        (PAIRS, lambda t: t.with_columns(turns=pl.col("turns").list.reverse()), "turns of"),
        (PAIRS, lambda t: t.with_columns(conversation=pl.col("conversation").list.head(1)), "conv"),
        (PAIR_KEY, lambda t: t.with_columns(seen=pl.lit("yes")), "columns"),
        (PAIRS, lambda t: t.select(reversed(t.columns)), "columns"),
    ],
)
def test_an_edit_of_pairs_and_of_their_copy_is_found(
    pairs: PairGrid, path: str, change: Callable[[pl.DataFrame], pl.DataFrame], said: str
) -> None:
    edited = pairs.grid.results.parent / path
    save_as_drawn(change(pl.read_parquet(edited)), edited)
    (finding,) = of_pairs(pairs)
    assert finding.startswith(f"{path}: ") and said in finding


def test_pairs_whose_turns_have_changed_since_are_noted_and_not_accused(pairs: PairGrid) -> None:
    rewritten = pairs.grid.results.parent / PAIRED[0]
    save(pl.read_parquet(rewritten)[1:], rewritten)
    assert of_pairs(pairs) == [
        f"{path}: {not_compared(path, NOT_COMPARED)}" for path in PAIRS_DRAWN
    ]
