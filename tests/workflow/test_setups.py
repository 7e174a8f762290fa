"""What an engine would refuse is told by the plan, by the doctor, and by a run as it begins."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.printed_output import text_of
from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.cli.plan import plan
from userturn.config.load import load_config
from userturn.models.setup_refusals import classes_of_vllm
from userturn.slurm.doctor import _setups
from userturn.study.grid import Grid
from userturn.workflow.study import Study

pytestmark = pytest.mark.skipif(not classes_of_vllm(), reason="vLLM is not installed")
MODEL = "model 'tiny': 3 GPUs do not divide its 2 heads of attention"
JUDGE = "judge 'mine': 3 GPUs do not divide its 2 heads of attention"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the model `tiny`, which the judge `mine` is served from, too."""
    shutil.copy(ROOT / "config.yaml", tmp_path / "config.yaml")
    shutil.copytree(ROOT / "data", tmp_path / "data")
    write_tiny_model(tmp_path / "models" / "tiny", width=64)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_study(folder: Path, gpus: int = 0, gpus_of_judge: int = 0, **changes: Any) -> Grid:
    """Write `study.yaml`, a study of one model and a judge that is served here."""
    study = yaml.safe_load((ROOT / "tests" / "support" / "study.yaml").read_text())
    tiny = {"source": "./models/tiny", "dtype": "float32", "gpus": gpus}
    judge = {"kind": "endpoint", "serve": True, "model": "./models/tiny", "gpus": gpus_of_judge}
    study |= {"engine": "vllm", "answer": {"max_tokens": 10}, "user_turn": {"max_tokens": 20}}
    study |= {"models": {"tiny": tiny}, "judges": {"mine": judge}} | changes
    study["run"] |= {"models": ["tiny"], "judges": ["heuristic", "mine"]}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    return Grid(load_config(["config.yaml", "study.yaml"]))


@pytest.mark.parametrize(("gpus", "said"), [((3, 0), MODEL), ((0, 3), JUDGE)])
def test_plan_doctor_and_run_say_the_same_of_a_model_and_of_a_judge(
    gpus: tuple[int, int], said: str, folder: Path
) -> None:
    grid = write_study(folder, *gpus)
    assert said in text_of(plan(["study.yaml"], "results"))
    assert [said in str(one.trouble) for one in _setups(grid) if one.trouble] == [True]
    with pytest.raises(SystemExit, match=said):
        Study(grid).check_setups()


def test_a_run_names_every_model_that_would_be_refused(folder: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        Study(write_study(folder, 3, 3)).check_setups()
    lines = str(ended.value).splitlines()
    found = [line.partition("; ")[0] for line in lines]
    assert found == [f"error: {MODEL}", f"error: {JUDGE}"]


def test_plan_says_that_a_model_takes_shorter_texts_than_the_default(folder: Path) -> None:
    write_study(folder)
    text = text_of(plan(["study.yaml"], "results"))
    assert "tiny: texts of up to 4,096 tokens, as its config.json says, not 16,384" in text
    assert "REFUSED" not in text


def test_judge_of_a_context_that_its_rubric_fills_is_refused_by_the_plan(folder: Path) -> None:
    path = folder / "models" / "tiny" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_position_embeddings": 600}))
    write_study(folder)
    said = text_of(plan(["study.yaml"], "results"))
    assert "FAIL judge mine can be loaded: judge 'mine': a verdict may take" in said
