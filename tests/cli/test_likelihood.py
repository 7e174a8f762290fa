"""`userturn likelihood` scores reference follow-ups as a study does, and leaves nothing behind."""

from pathlib import Path

import pytest

from tests.support.printed_output import text_of
from tests.support.snakemake_runs import copy_project
from tests.support.tiny_model import write_tiny_model
from userturn.cli.likelihood import measures_sheet, select_dataset
from userturn.cli.main import main
from userturn.config.load import CONFIG, installed, load_config, load_study

STUDY = """
datasets:
  follow-ups:
    file: data/demo/follow_ups.jsonl
    fields: {id: id, messages: messages}
    verifier: none
    condition: gold_context
    limit: 3
likelihood: {distractors: 1}
"""
SCORE = ["likelihood", "tiny", "follow-ups", "--configfile", "study.yaml", "scored.yaml"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = copy_project(tmp_path / "project")
    write_tiny_model(folder / "models" / "tiny")
    text = (folder / "study.yaml").read_text().replace("likelihood: off\n", "")
    (folder / "study.yaml").write_text(text)
    (folder / "scored.yaml").write_text(STUDY)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.slow
def test_every_measure_is_printed_and_nothing_is_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(project.rglob("*"))
    assert main(SCORE) == 0
    said = capsys.readouterr().out
    assert "tiny on the reference follow-ups of follow-ups\n" in said
    lines = [told.split() for told in said.splitlines() if " 3/3 " in told]
    assert len(lines) == 14
    assert sum(told[-1] == "50%" for told in lines) == 2
    assert sorted(project.rglob("*")) == before


def test_a_dataset_that_nobody_knows_is_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.replace("follow-ups", "follow-up") for word in SCORE]) == 1
    assert "'follow-up' is not a dataset of the configuration" in capsys.readouterr().err


def test_where_likelihood_is_off_it_is_as_in_the_installation(project: Path) -> None:
    (project / "scored.yaml").write_text(STUDY.replace("{distractors: 1}", "off"))
    config = select_dataset(load_study(["study.yaml", "scored.yaml"]), "follow-ups")
    distractors = load_config([installed(CONFIG)])["likelihood"]["distractors"]
    expected = {"datasets": ["follow-ups"], "turns": 0, "distractors": distractors}
    assert config["likelihood"] == expected


def test_a_measure_without_a_value_says_why() -> None:
    row = {"measure": "gain_role", "unit": "nats a token", "n_scored": 0, "n_turns": 2}
    row |= {"estimate": None, "lower": None, "upper": None, "reason": "too long"}
    assert text_of([measures_sheet([row])]).endswith("  0/2  too long")


def test_one_conversation_has_an_estimate_and_no_interval() -> None:
    row = {"measure": "gain_role", "unit": "nats a token", "n_scored": 2, "n_turns": 2}
    row |= {"estimate": 0.25, "lower": None, "upper": None, "reason": None}
    assert text_of([measures_sheet([row])]).split()[-2:] == ["2/2", "0.25"]


def test_model_behind_a_chat_api_is_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = "{source: big, endpoint: http://127.0.0.1:9/v1, api: chat}"
    (project / "scored.yaml").write_text(f"{STUDY}models: {{closed: {chat}}}\n")
    assert main([word.replace("tiny", "closed") for word in SCORE]) == 1
    assert "chat API, which gives no likelihood" in capsys.readouterr().err.splitlines()[-1]
