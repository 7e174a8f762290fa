"""Crossed answers: another model's answers are shown, after they are there, and once each."""

from contextlib import chdir
from pathlib import Path

import polars as pl
import pytest

from tests.support.collected import swept as swept_by
from tests.support.findings_of import findings_of
from tests.support.snakemake_runs import ROOT
from tests.support.tiny_grid import tiny_grid
from tests.support.tiny_model import write_tiny_model
from userturn.audit.check_prompts import check_prompts
from userturn.audit.check_rows import check_rows
from userturn.audit.pair import Pair
from userturn.errors import UserError
from userturn.generation.collect import collect_table
from userturn.generation.describe_model import describe_model
from userturn.models.requests import AnyRequest
from userturn.prompts.perturbations import NO_REFERENCE
from userturn.sources.registry import asked, asked_of
from userturn.study.grid import Grid
from userturn.study.record import record_study, study_record
from userturn.workflow.pending import Pending

N_ITEMS, N_FIRST = 4, 2  # two turns of each of two conversations
CROSSED = "results/crossed/tiny/items/t0/{}/user_turns.parquet"


def study(folder: Path, *answers_from: str) -> Grid:
    """Return the grid of two models, over two turns each of conversations of the demo.

    Only the first turn has an answer of the dataset that its user replied to.
    """
    for seed, name in enumerate(("model", "other")):
        if not (folder / name).exists():
            write_tiny_model(folder / name, seed)
    entry = {"max_model_len": 4096, "shards": 1}
    models = {
        "tiny": {**entry, "source": str(folder / "model"), "shards": 2},
        "other": {**entry, "source": str(folder / "other")},
    }
    items = {
        "file": str(ROOT / "data/demo/follow_ups.jsonl"),
        "fields": {"id": "id", "messages": "messages"},
        "turns": "all",
        "limit": N_FIRST,
        "verifier": "none",
    }
    run = {"temperatures": [0], "perturbations": ["none"], "judges": ["heuristic"]}
    more = {"answers_from": [*answers_from]} if answers_from else {}
    grid = tiny_grid(folder, N_ITEMS, run=run, models=models, datasets={"items": items}, **more)
    describe_model(grid, "other", grid.results / "models" / "other.json")
    return grid


def sweep(grid: Grid, name: str, after_others: bool = False) -> list[AnyRequest]:
    """Do what a model's sweeps and the collection of its tables do; return what it was asked."""
    wanted, requests = set(Pending(grid).identities(name, after_others)), []
    for shard in grid.shards(name):  # every text is of its model and item: `tiny of x.`
        requests += swept_by(grid, name, shard, wanted, lambda one: f"{name} of {one.item}.")
    for of in asked_of(grid, name, wanted):
        collect_table(grid, of, str(place(grid, of.path)))
    return requests


def place(grid: Grid, path: str) -> Path:
    """Return where a file of a study is, from its path in rules."""
    found = grid.results / path.removeprefix("results/")
    found.parent.mkdir(parents=True, exist_ok=True)
    return found


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """Two models after each other's answers, and after the dataset's."""
    with chdir(ROOT):
        grid = study(tmp_path_factory.mktemp("study"), "other", "tiny", "reference")
        for after_others in (False, True):
            for name in grid.models:
                sweep(grid, name, after_others)
    return grid


def table(grid: Grid, path: str) -> pl.DataFrame:
    """Return a table of a study by its path in rules."""
    return pl.read_parquet(place(grid, path))


@pytest.mark.slow
def test_a_turn_stands_after_the_other_models_answer_to_the_same_item(swept: Grid) -> None:
    turns = table(swept, CROSSED.format("other"))
    assert turns["answer"].to_list() == [f"other of {item}." for item in turns["item"]]
    shows = zip(turns["answer"], turns["prompt_text"], strict=True)
    assert turns.height == N_ITEMS and all(answer in prompt for answer, prompt in shows)
    assert not any("tiny of" in prompt for prompt in turns["prompt_text"])


def test_a_turn_after_the_datasets_answer_is_left_out_where_it_has_none(swept: Grid) -> None:
    turns = table(swept, CROSSED.format("reference"))
    assert turns["error"].to_list() == [None, NO_REFERENCE] * N_FIRST
    assert set(turns["perturbation"]) == {"reference_answer"}


@pytest.mark.slow
def test_crossing_a_finished_study_asks_only_the_turns_after_others(tmp_path: Path) -> None:
    with chdir(ROOT):
        before, after = study(tmp_path), study(tmp_path, "other", "reference")
        assert len(sweep(before, "tiny")) == len(sweep(before, "other")) == 2 * N_ITEMS
        assert [len(sweep(after, name)) for name in after.models] == [N_FIRST] * 2
        assert len(sweep(after, "tiny", after_others=True)) == N_ITEMS
        assert sweep(after, "tiny", after_others=True) == []


def test_what_waits_for_another_models_answers_is_asked_by_a_sweep_of_its_own(
    tmp_path: Path,
) -> None:
    with chdir(ROOT):
        grid = study(tmp_path, "other")
        crossed = asked(grid)[CROSSED.format("other")]
        pending = Pending(grid)
        assert crossed.identity not in pending.identities("tiny")
        assert pending.identities("tiny", after_others=True) == [crossed.identity]
        with pytest.raises(UserError, match=r"answers/other/items\.parquet' is missing or of"):
            sweep(grid, "tiny", after_others=True)


@pytest.mark.slow
def test_a_lost_table_is_collected_again_and_nothing_is_asked(swept: Grid) -> None:
    path = place(swept, CROSSED.format("other"))
    whole = path.read_bytes()
    path.unlink()
    with chdir(ROOT):
        assert Pending(swept).tables == {}
    path.write_bytes(whole)


@pytest.mark.slow
def test_an_audit_makes_the_probes_again_and_finds_one_after_another_answer(
    swept: Grid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    record_study(swept.config, "i", str(swept.results / "study.json"))
    study_now = study_record(swept.config, swept.contents)
    monkeypatch.chdir(swept.results.parent)
    (swept.results.parent / "config.yaml").write_bytes((ROOT / "config.yaml").read_bytes())

    def found() -> set[str]:
        pair = Pair(swept, study_now, "tiny", "items", True, frozenset())
        said = [*check_rows(pair), *check_prompts(swept.results)]
        return {finding.artifact for finding in findings_of(said)}

    assert found() == set()
    answers = place(swept, "results/answers/other/items.parquet")
    text = pl.when(pl.int_range(pl.len()) == 1).then(pl.lit("No.")).otherwise("answer")
    table(swept, "results/answers/other/items.parquet").with_columns(answer=text).write_parquet(
        answers
    )
    assert CROSSED.format("other") in found()
