"""`userturn judge-card` measures a judge on the labelled turns."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support.judge_server import judge_server, says
from tests.support.judged_cell import PRICE, settings
from tests.support.snakemake_runs import ROOT
from userturn.cli.main import main
from userturn.config.load import load_config

pytestmark = pytest.mark.slow

N_TURNS = len((ROOT / "data/labelled/turns.jsonl").read_text().splitlines())


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ROOT / "config.yaml", tmp_path)
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)


def card(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["judge-card", *arguments]) == 0
    return capsys.readouterr().out


def test_the_heuristic_judge_is_measured_and_said_to_be_not_validated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = card(capsys, "heuristic")
    assert re.search(r"^all +all +kappa +\d+/\d+ +\d\.\d+", said, re.MULTILINE)
    words = " ".join(said.split())  # however the lines are broken
    assert "unknown from the judge alone: heuristic is not validated" in words


def test_a_judge_is_asked_once_and_its_cost_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with judge_server(lambda asked: says("genuine_followup")) as server:
        texts = {"rubric": "data/rubric.yaml", "prompt": "data/judge_prompt.txt"}
        entry = settings(server.url, **texts, price=PRICE)
        config = {"judges": {"j": entry}}
        Path("mine.yaml").write_text(json.dumps(config))
        first = card(capsys, "j", "--configfile", "mine.yaml")
        assert len(server.asked) == N_TURNS
        again = card(capsys, "j", "--configfile", "mine.yaml")
        assert len(server.asked) == N_TURNS
    # Of 900 tokens read 512 are cached, 40 are written: (388 + 512 / 2 + 400) / 10^6 a question.
    assert f"cost: {N_TURNS * 1044e-6:.4f}" in first and f"cost: {N_TURNS * 1044e-6:.4f}" in again
    assert "specificity not shown, at least 35 labels of turns that people do not call" in " ".join(
        first.split()
    )


def test_a_judge_that_nobody_knows_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge-card", "heuristics"]) == 1
    assert "'heuristics' is not a judge of the study, did you mean 'heuristic'?" in (
        capsys.readouterr().err
    )


def test_the_shipped_thresholds_are_those_of_the_docs() -> None:
    limits = load_config([ROOT / "config.yaml"])["judge_card"]
    assert limits == {"min_sensitivity": 0.7, "min_specificity": 0.9}
