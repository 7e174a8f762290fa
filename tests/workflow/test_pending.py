"""A dataset that cannot be prepared holds up nothing but itself, once that is known."""

from pathlib import Path

import pytest

from tests.support.snakemake_runs import copy_project
from userturn.config.load import load_study
from userturn.datasets.prepare import prepare_dataset
from userturn.errors import UserError
from userturn.workflow.startup import checked_study
from userturn.workflow.study import Study

FIELDS = {"fields": {"prompt": "q"}, "verifier": "none"}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study of one sound dataset and one with a damaged row."""
    monkeypatch.chdir(copy_project(tmp_path / "project"))
    Path("models", "tiny").mkdir(parents=True)
    Path("models", "tiny", "config.json").write_text("{}")
    Path("sound.jsonl").write_text('{"q": "Why?"}')
    Path("damaged.jsonl").write_text('{"q": ')
    config = load_study(["study.yaml"])
    config["datasets"] = {name: {**FIELDS, "file": f"{name}.jsonl"} for name in DATASETS}
    config["run"]["datasets"] = DATASETS
    return checked_study(config)


DATASETS = ["damaged", "sound"]


def prepare(study: Study, dataset: str) -> None:
    identity, to = study.grid.dataset_identity(dataset), f"results/datasets/{dataset}.parquet"
    prepare_dataset(study.grid.dataset_settings(dataset), identity, to)


def cell(dataset: str) -> str:
    return f"results/cells/tiny/{dataset}/t0/none/user_turns.parquet"


def test_sweeps_wait_for_a_damaged_dataset_until_it_is_known_to_be(study: Study) -> None:
    sweep = ["results/sweeps/tiny/1of1.json"]
    items = [f"results/datasets/{name}.parquet" for name in DATASETS]
    assert study.generation.datasets("tiny", "1of1") == items
    with pytest.raises(UserError):
        prepare(study, "damaged")
    now = Study(study.grid)
    assert now.generation.datasets("tiny", "1of1") == items[1:]
    assert now.generation.waits_for(cell("sound")) == sweep
    assert now.generation.waits_for(cell("damaged")) == items[:1]
    assert now.generation.waits_for("results/answers/tiny/damaged.parquet") == items[:1]
    assert len(now.pending.identities("tiny")) < len(study.pending.identities("tiny"))


def test_a_shard_that_the_model_has_not_is_not_swept(study: Study) -> None:
    with pytest.raises(KeyError, match="1of7"):
        study.generation.datasets("tiny", "1of7")


def test_a_dataset_that_was_mended_is_swept(study: Study) -> None:
    with pytest.raises(UserError):
        prepare(study, "damaged")
    Path("damaged.jsonl").write_text('{"q": "How?"}')
    mended = checked_study(study.grid.config)
    assert "results/datasets/damaged.parquet" in mended.generation.datasets("tiny", "1of1")
    prepare(mended, "damaged")
    assert Study(mended.grid).pending.unusable == set()
