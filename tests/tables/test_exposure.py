"""Beside every number of a trained model stands what it was trained on."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import load_config
from userturn.study.grid import Grid
from userturn.tables.exposure import marked, unmarked


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
