"""A study that was begun with rubric 1 keeps it, and any other has rubric 2."""

import json
from pathlib import Path

import pytest

from tests.support.snakemake_runs import ROOT
from userturn.config.load import FORMER, has_rubric_1, keep_own_rubric, load_config
from userturn.judges.kinds import complete_judges


def recorded(results: Path, *texts: str) -> Path:
    """Write the record of a study with some texts."""
    results.mkdir()
    content = {"contents": {"texts": dict.fromkeys(texts, "")}}
    (results / "study.json").write_text(json.dumps(content))
    return results


@pytest.mark.parametrize(
    ("text", "is_1"), [("data/rubric.yaml", True), ("data/rubric_2.yaml", False)]
)
def test_its_record_says_which_rubric_a_study_was_begun_with(
    text: str, is_1: bool, tmp_path: Path
) -> None:
    assert has_rubric_1(recorded(tmp_path / "results", text, "mine.yaml")) is is_1


def test_a_study_without_a_record_has_the_rubric_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name, is_1 in (("rubric.yaml", True), ("rubric_2.yaml", False)):
        (tmp_path / "data" / name).touch()
        assert has_rubric_1(tmp_path / "results") is is_1


def test_no_verdict_of_an_older_study_gets_another_identity_and_own_texts_stay(
    tmp_path: Path,
) -> None:
    config = load_config([ROOT / "config.yaml"])
    config["judges"]["own"] = {"kind": "scored", "model": "m", "rubric": "mine.yaml"}
    keep_own_rubric(config, recorded(tmp_path / "results", "data/rubric.yaml"))
    judges = complete_judges(config)
    named = {key: judges["gpt-5.4-mini"][key] for key in ("rubric", "prompt")}
    assert named == {"rubric": "data/rubric.yaml", "prompt": "data/judge_prompt.txt"}
    own = {key: judges["own"][key] for key in ("rubric", "prompt")}
    assert own == {"rubric": "mine.yaml", "prompt": "data/scored_prompt.txt"}
    assert "arguable" not in judges["heuristic"]


def test_a_study_with_rubric_2_is_left_alone(tmp_path: Path) -> None:
    config = load_config([ROOT / "config.yaml"])
    before = json.dumps(config)
    keep_own_rubric(config, recorded(tmp_path / "results", "data/rubric_2.yaml"))
    assert json.dumps(config) == before
    assert config["judges"]["heuristic"]["arguable"] is True


def test_every_text_that_an_older_study_keeps_is_there_beside_the_new_one() -> None:
    assert all((ROOT / path).is_file() for pair in FORMER.items() for path in pair)
