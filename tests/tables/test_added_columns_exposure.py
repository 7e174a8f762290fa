"""Beside every number of a trained model stands what it was trained on."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.study.grid import Grid
from userturn.tables.added_columns import marked, unmarked
from userturn.tables.anchor_evidence import post_training


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
