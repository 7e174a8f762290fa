"""Tables with another format have a column for it; all others stay as they are."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.other_format import grid_with_format, write_format
from tests.support.snakemake_runs import ROOT
from tests.support.whole_study import inputs_in, made_of_cells, whole_grid, write_whole_study
from userturn.config.load import load_config
from userturn.study.grid import Grid
from userturn.tables.added_columns import (
    FORMAT,
    default_format_rows,
    join_formats,
    marked,
    split_formats,
    unmarked,
)
from userturn.tables.anchor_evidence import post_training
from userturn.tables.likelihood import COMPARED
from userturn.tables.make_tables import make_tables
from userturn.workflow.registry import TABLES

JOINED = pl.DataFrame(
    {
        "family": ["f", "f+thinking", "f+thinking"],
        "model": ["f-1b", "f-1b+thinking", "all"],
        "n": [1, 2, 3],
    }
)


def test_format_has_a_column_after_the_model() -> None:
    assert split_formats(JOINED).to_dict(as_series=False) == {
        "family": ["f", "f", "f"],
        "model": ["f-1b", "f-1b", "all"],
        "format": ["default", "thinking", "thinking"],
        "n": [1, 2, 3],
    }


def test_joining_undoes_splitting() -> None:
    assert join_formats(split_formats(JOINED)).equals(JOINED)


def test_table_without_another_format_has_no_column_more() -> None:
    plain = JOINED[:1]
    assert split_formats(plain) is plain
    assert join_formats(plain) is plain
    none = pl.DataFrame({"judge": ["heuristic"]})
    assert split_formats(none) is none


def test_base_and_baseline_are_named_as_models() -> None:
    table = pl.DataFrame({"model": ["s+f"], "base": ["b+f"], "baseline": ["b+f"]})
    assert split_formats(table).row(0, named=True) == {
        "model": "s",
        "format": "f",
        "base": "b",
        "baseline": "b",
    }


def test_default_format_shows_each_model_once() -> None:
    assert default_format_rows(JOINED)["model"].to_list() == ["f-1b"]


def tables_of(grid: Grid, made: Path) -> dict[str, pl.DataFrame]:
    """Make all tables of a study, and return them as they were written."""
    made.mkdir()
    paths = {name: [f"{made}/{name}.parquet"] for name in made_of_cells(TABLES)}
    make_tables(grid, "identity", inputs_in(grid.results), paths)
    return {name: pl.read_parquet(path[0]) for name, path in paths.items()}


@pytest.mark.slow
def test_another_format_changes_no_number_of_the_default_one(tmp_path: Path) -> None:
    study = tmp_path / "study"
    write_whole_study(study)
    without = tables_of(whole_grid(study), tmp_path / "without")
    write_format(study)
    both = tables_of(grid_with_format(study), tmp_path / "both")
    kept = {
        name: table.filter(pl.col(FORMAT) == "default").drop(FORMAT)
        for name, table in both.items()
        if FORMAT in table.columns
    }
    changed = {name for name, table in (both | kept).items() if not table.equals(without[name])}
    # Judges agree over all turns; one has rows of pairs, and new pairs alone.
    assert changed == {"confusion", "judges", "likelihood"}
    pairs, of_default = (t["likelihood"].filter(part=COMPARED) for t in (both, without))
    assert set(pairs["factor"]) == {"size", "format"}
    assert pairs.filter(factor="size").select(of_default.columns).equals(of_default)
    of_format = both["contrasts"].filter(factor="format", scope="model", temperature=0.0)
    confirming = of_format.filter(correction="Holm")
    assert set(confirming["model"]) == {"qwen3.5-0.8b", "gpt-oss-20b"}
    assert set(confirming.select("condition", "baseline", "format").rows()) == {
        ("no_system", "default", "no_system")
    }
    within = both["contrasts"].filter(pl.col(FORMAT) != "default", pl.col("factor") != "format")
    assert set(within["correction"]) == {"Benjamini-Hochberg"}


def test_tables_of_a_study_that_trains_say_what_its_models_have_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    config = load_config([Path("config.yaml")])
    config["models"] = {
        "plain": "made/up",
        "both": {"base": "plain", "recipe": "sft-collab-both"},
        "again": {"base": "both", "recipe": "demo-rl"},
    }
    config["run"] = {"models": ["plain", "both", "again"], "datasets": ["math500", "gsm8k"]}
    places = [("plain", "math500"), ("both", "math500"), ("both", "gsm8k"), ("again", "all")]
    table = pl.DataFrame(places, schema=["model", "dataset"], orient="row")
    found = marked(table, Grid(config))
    assert found.drop("model", "dataset").rows() == [
        (None, None, None),
        (True, False, True),
        (False, False, True),
        (True, True, True),
    ]
    assert unmarked(found, {"model": pl.String, "dataset": pl.String}).equals(table)
    config["run"]["models"] = ["plain"]
    assert marked(table, Grid(config)).equals(table)


def test_the_papers_anchor_says_what_the_models_learnt_and_how_often_they_were_trained() -> None:
    where = {"factor": "model", "measure": "follow-up", "scope": "model", "perturbation": "none"}
    where |= {"baseline": "qwen3.5-2b", "temperature": 0.0, "n_items": 99, "seen": False}
    where |= {"difference": 0.1, "lower": 0.05, "upper": 0.15}
    taught = {"model": "s", "method": "sft", "learns_user_turns": True, "n_trainings": 3}
    rewarded = {"model": "r", "method": "grpo", "learns_user_turns": False, "n_trainings": 1}
    rows = [
        where | taught | {"trains_on_the_metric": False},
        where | rewarded | {"trains_on_the_metric": True},
    ]
    found = post_training({"contrasts": pl.DataFrame(rows)})
    assert found.note is not None
    assert found.note.split("; ")[1:] == [
        "s learns user turns",
        "r was trained on the metric",
        "r is one training, whose seed is not in its limits",
    ]
