"""The record of a training is what its recipe, data, base and last checkpoint say."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.support.job_records import job_record
from tests.support.snakemake_runs import ROOT
from userturn.audit.check_sources import check_training
from userturn.config.load import load_config
from userturn.storage.hashing import file_sha256, fingerprint
from userturn.study.grid import Grid
from userturn.workflow.job_record import write_record
from userturn.workflow.study_files import Files

DATA = "results/training/tuned/data.parquet"
RECORD = "results/training/tuned/training.json"
STEP = {"step": 1, "loss": 2.5, "learning_rate": 0.1}  # the rate is not in the record


def record_of(path: str, content: dict[str, Any]) -> str:
    """Write a file and return its hash."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(content))
    return file_sha256(path)


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Files, Grid]:
    """A model of two conversations and one step, with its description, checkpoint and record."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    config = load_config([ROOT / "config.yaml"])
    config["models"] = {"plain": "made/up", "tuned": {"base": "plain", "recipe": "demo-sft"}}
    config["run"]["models"] = ["plain", "tuned"]
    described = {"identity": {"source": "made/up"}, "revision": "a" * 40}
    record_of("results/models/plain.json", described)
    grid = Grid(load_config([ROOT / "config.yaml"]) | config)
    Path(DATA).parent.mkdir(parents=True)
    pl.DataFrame({"id": ["a", "b"]}).write_parquet(DATA)
    training = grid.training_identity("tuned")
    learnt_from = {
        "training": training,
        "base_identity": described["identity"],
        "data_sha256": file_sha256(DATA),
    }
    state = f"results/checkpoints/tuned/{fingerprint(learnt_from)}/checkpoint-1/trainer_state.json"
    beside = {state: record_of(state, {"log_history": [STEP]})}
    content = {
        "artifact": {"identity": training},
        "base": "plain",
        "base_revision": "a" * 40,
        **learnt_from,
        "recipe": grid.contents.recipes["tuned"],
        "n_conversations": 2,
        "log": [{"step": 1, "loss": 2.5}],
    }
    job = job_record(
        "train",
        wildcards={"model": "tuned"},
        identity=training,
        inputs={DATA: file_sha256(DATA)},
        outputs={RECORD: record_of(RECORD, content)},
        beside=beside,
    )
    write_record(Path("results/provenance/train/tuned.json"), job)
    return Files(Path("results").resolve(), {}), grid


def said(trained: tuple[Files, Grid], **changes: Any) -> list[str]:
    """Return what an audit says after changes of the record."""
    content = json.loads(Path(RECORD).read_text())
    record_of(RECORD, content | changes)
    return [finding.found for finding in check_training(*trained)]


def test_record_that_says_what_was_trained_is_no_finding(trained: tuple[Files, Grid]) -> None:
    assert said(trained) == []


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"log": [{"step": 1, "loss": 1.5}]}, "another log than its last checkpoint has"),
        ({"n_conversations": 3}, f"other data than {DATA}"),
        ({"data_sha256": "0" * 64}, f"other data than {DATA}"),
        ({"base_revision": "b" * 40}, "another base than plain is described as"),
        ({"recipe": {}}, "another base, recipe or training than the configuration's"),
        ({"log": None}, "another log than its last checkpoint has"),
    ],
)
def test_edited_record_is_found(
    trained: tuple[Files, Grid], changes: dict[str, Any], found: str
) -> None:
    assert said(trained, **changes) == [found]


@pytest.mark.parametrize(
    ("lost", "found"),
    [
        (0.04, []),
        (None, []),  # an adapter that changes nothing
        (0.06, ["6% lost, in its log-probabilities"]),
        (float("nan"), ["nan% lost, in its log-probabilities"]),
    ],
)
def test_swept_model_that_lost_more_than_a_twentieth_of_what_was_trained_is_found(
    trained: tuple[Files, Grid], lost: float | None, found: list[str]
) -> None:
    assert said(trained, kept_change={"lost": lost}) == found


def test_what_is_not_a_record_is_said_so(trained: tuple[Files, Grid]) -> None:
    Path(RECORD).write_text("{}")
    (finding,) = check_training(*trained)
    assert finding.found == "not the record of a training (KeyError)"


def test_other_data_and_record_are_no_training_whose_checkpoints_are_recorded(
    trained: tuple[Files, Grid],
) -> None:
    pl.DataFrame({"id": ["a", "c"]}).write_parquet(DATA)
    assert said(trained, data_sha256=file_sha256(DATA)) == ["no checkpoint of such a training"]


def test_copy_without_checkpoints_data_and_base_is_not_accused(trained: tuple[Files, Grid]) -> None:
    (state,) = Path("results/checkpoints").rglob("*.json")
    for path in (state, Path(DATA), Path("results/models/plain.json")):
        path.unlink()
    assert said(trained) == []
