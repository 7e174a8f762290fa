"""The audit tells the languages of turns again, and finds others."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.replayed_job import replayed
from tests.support.snakemake_runs import ROOT
from userturn.audit.findings import Finding, Item
from userturn.audit.pair import Pair
from userturn.config.load import load_config
from userturn.datasets.prepare import prepare_dataset
from userturn.generation.turn_languages import detect_languages
from userturn.study.contents import FileContents
from userturn.study.grid import Grid
from userturn.study.record import study_record
from userturn.workflow.data import LanguageGrid

MODEL, DATASET = "smollm2-135m", "problems-by-language"
TOLD = Path("languages", MODEL, f"{DATASET}.parquet")


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """A study with the languages of its turns, all of them in English."""
    monkeypatch.chdir(ROOT)
    files = ["config.yaml", "profiles/demo/study.yaml", "profiles/demo/wider.yaml"]
    config = load_config(files)
    config["run"] |= {"perturbations": ["none"]}
    del config["humans"]["pairs"]
    grid = Grid(config, tmp_path)
    items = grid.dataset_path(DATASET)
    prepare_dataset(grid.dataset_settings(DATASET), "i", items)
    answer = "She now has six apples in her basket, and that is all."
    rows = pl.read_parquet(items).select(
        "item",
        model=pl.lit(MODEL),
        dataset=pl.lit(DATASET),
        temperature=pl.lit(0.0),
        perturbation=pl.lit("none"),
        sample=pl.lit(0, dtype=pl.Int64),
        key=pl.col("item"),
        answer=pl.lit(answer),
        text=pl.lit("And how many pears does she have in it now?"),
        outcome=pl.lit("ok"),
    )
    languages = LanguageGrid(grid)
    (cell,) = languages.user_turns_of(MODEL, DATASET)
    paths = [
        tmp_path / cell.removeprefix("results/"),
        tmp_path / f"answers/{MODEL}/{DATASET}.parquet",
    ]
    for path in (*paths, tmp_path / TOLD):
        path.parent.mkdir(parents=True)
    for path in paths:
        rows.write_parquet(path)
    detect_languages("i", [str(paths[0])], str(paths[1]), str(items), str(tmp_path / TOLD))
    record = study_record(config, FileContents(config))
    return Pair(grid, record, MODEL, DATASET, False, frozenset())


def told_again(pair: Pair) -> list[Item]:
    """Return what the audit says of the languages."""
    return replayed(pair, "detect_languages", [f"results/{TOLD}"], model=MODEL, dataset=DATASET)


@pytest.mark.slow
def test_english_turns_after_prompts_in_six_languages_are_in_another_in_five(pair: Pair) -> None:
    told = pl.read_parquet(pair.grid.results / TOLD)
    assert (told.height, told["turned_in_another"].sum(), told["turned_in_another"].count()) == (
        *(36, 30, 36),
    )
    assert told["answered_in_another"].equals(told["turned_in_another"])
    assert told_again(pair) == []


def test_a_language_that_is_not_detected_again_is_found(pair: Pair) -> None:
    path = pair.grid.results / TOLD
    forged = pl.read_parquet(path).with_columns(turn_language=pl.col("prompt_language"))
    forged.write_parquet(path)
    (finding,) = told_again(pair)
    assert isinstance(finding, Finding)
    assert (finding.check, finding.artifact) == ("rows", f"results/{TOLD}")
