"""Training that is disturbed: what is said, what is kept, and that no step is made twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.support.snakemake_runs import ROOT, SNAKEMAKE, copy_project, n_requests, planned, run
from tests.support.tiny_model import write_tiny_model
from tests.support.train_once import DRAWS, N_STEPS
from tests.workflow.test_rerun import N_FINISHED
from userturn.audit.run import audit

pytestmark = pytest.mark.slow

PATIENCE = 300  # seconds, on a busy machine
BEFORE_AND_AFTER = [
    "results/tables/contrasts.parquet",
    "results/tables/training_overlap.parquet",
    "results/study.json",
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What happened to trainings in one process: trl takes 20 seconds to import."""
    folder = copy_project(tmp_path_factory.mktemp("training") / "copy")
    write_tiny_model(folder / "models" / "tiny")
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.train_once"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    happened: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return happened


def test_endpoint_that_is_down_ends_training_in_a_sentence_and_its_checkpoint_is_kept(
    found: dict[str, Any],
) -> None:
    said = found["broken"]["said"]
    assert said.startswith("train probed: the judge 'other', asked for followup, gave no reply")
    assert "the checkpoint of step 1 is kept, run the same command again" in said
    assert found["broken"]["step"] == 1


def test_sigterm_ends_training_after_its_step_with_a_checkpoint(found: dict[str, Any]) -> None:
    assert found["stopped"]["said"] == (
        f"train probed: stopped by SIGTERM at step 2 of {N_STEPS}, whose checkpoint is kept; run "
        "the same command again to continue"
    )


def test_continued_training_makes_only_the_steps_that_are_left(found: dict[str, Any]) -> None:
    assert (found["finished"]["said"], found["finished"]["n_asked"]) == (None, DRAWS)
    steps = [entry["step"] for entry in found["record"]["log"]]
    assert steps == [1, 2, 3]


def test_finished_training_is_not_repeated_and_merges_to_the_same_bytes(
    found: dict[str, Any],
) -> None:
    assert found["again"] == {"said": None, "step": N_STEPS, "n_asked": 0, "is_equal": True}


def test_record_has_the_reward_of_each_step(found: dict[str, Any]) -> None:
    assert [entry["reward"] for entry in found["record"]["log"]] == [1.0, 1.0, 1.0]
    assert found["record"]["recipe"]["trains_on_the_metric"] is True


def test_rewards_of_a_conversation_that_goes_on_are_weighted_and_summed(
    found: dict[str, Any],
) -> None:
    assert found["spoken"]["said"] is None
    for entry in found["spoken_record"]["log"]:
        # No answer is right; 2 for interactivity at 0.5; minus the thousands of tokens.
        thousands = entry["rewards/length/mean"]
        assert 0 < thousands < 0.1
        assert entry["rewards/interactivity/mean"] == 0.5
        assert entry["reward"] == pytest.approx(2 * 0.5 - thousands, abs=1e-6)


def test_the_likelihood_gain_rewards_without_asking_anybody(found: dict[str, Any]) -> None:
    assert (found["gained"]["said"], found["gained"]["n_asked"]) == (None, 0)
    assert len(found["gains"]) == N_STEPS * DRAWS
    assert any(gain not in (None, 0) for gain in found["gains"])


def test_replies_that_were_paid_for_are_not_asked_for_again(found: dict[str, Any]) -> None:
    # Its only checkpoint is the last one, so the first two steps are made again.
    assert found["down"]["said"].endswith(
        "no step was made yet, run the same command again when it is fixed"
    )
    assert (found["up"]["said"], found["up"]["n_asked"]) == (None, DRAWS)


def test_draw_that_lacks_a_reward_teaches_nothing_and_one_of_reward_zero_does(
    found: dict[str, Any],
) -> None:
    # Of two draws one is left out, and a group of one has no better or worse.
    assert found["unclear_record"]["kept_change"]["kl_adapter"] == 0
    assert found["unclear_record"]["kept_change"]["lost"] is None
    assert found["zero_record"]["kept_change"]["kl_adapter"] > 0


def test_epochs_are_over_the_turns_of_the_conversations_that_are_not_held_out(
    found: dict[str, Any],
) -> None:
    record = found["taught_record"]
    assert (found["taught"]["said"], record["n_conversations"]) == (None, 40)
    assert (record["n_learnt"], record["left_out"]) == (108, {})  # three turns of 36
    assert [entry["step"] for entry in record["log"]] == list(range(1, 28))  # .5 * 108 / 2
    change = record["kept_change"]
    assert change["loss_after"] < change["loss_before"]
    assert change["kl_swept"] == pytest.approx(change["kl_adapter"], rel=0.05)
    assert change["kl_swept"] > 0.01


def test_checkpoints_of_a_recipe_with_a_curve_are_measured_from_the_base_on(
    found: dict[str, Any],
) -> None:
    curve = found["taught_record"]["curve"]
    measured = [step for step in (0, 5, 10, 15, 20, 25, 27) for _ in range(4)]
    assert [row["step"] for row in curve] == measured
    assert {row["correct"] for row in curve} == {None}  # these conversations have no reference
    assert curve[0]["gain"] != curve[-4]["gain"]
    assert "curve" not in found["record"]


def test_draws_are_a_table_with_their_conversations_and_rewards(found: dict[str, Any]) -> None:
    assert found["draws"]["unclear"] == [[step, 1] for step in (1, 2, 3)]
    assert found["draws"]["spoken"] == [["user", "assistant"]] * N_STEPS * DRAWS


@pytest.fixture(scope="module")
def trained(finished_study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished study with a trained model, whose training was killed once and went on."""
    folder = tmp_path_factory.mktemp("trained") / "copy"
    shutil.copytree(finished_study, folder, copy_function=shutil.copy)
    recipe = yaml.safe_load((folder / "data/recipes/demo-sft.yaml").read_text())
    del recipe["optimisation"]["epochs"]
    recipe["optimisation"] |= {"steps": 60, "batch": 1, "checkpoint_every": 2}
    (folder / "data/recipes/tiny.yaml").write_text(yaml.safe_dump(recipe))
    study = yaml.safe_load((folder / "study.yaml").read_text())
    study["models"]["tiny-sft"] = {"base": "tiny", "recipe": "tiny"}
    study["run"] |= {"models": ["tiny", "tiny-sft"]}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    command = [SNAKEMAKE, "--configfile", "study.yaml", "--cores", "2"]
    process = subprocess.Popen(
        [*command, "results/training/tiny-sft/training.json"],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + PATIENCE
    while not [*folder.glob("results/checkpoints/tiny-sft/*/checkpoint-*/trainer_state.json")]:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (folder / "results/training/tiny-sft/training.json").exists()
    run(folder, *BEFORE_AND_AFTER)
    return folder


def test_killed_training_goes_on_from_its_last_checkpoint(trained: Path) -> None:
    log = (trained / "logs/train/tiny-sft.log").read_text()
    first = int(log.partition("train tiny-sft: from step ")[2].split()[0])
    assert first >= 2
    assert f"step {first + 1}/60" in log and f"step {first}/60" not in log
    record = json.loads((trained / "results/training/tiny-sft/training.json").read_text())
    assert [entry["step"] for entry in record["log"]] == list(range(1, 61))


def test_loss_falls(trained: Path) -> None:
    record = json.loads((trained / "results/training/tiny-sft/training.json").read_text())
    losses = [entry["loss"] for entry in record["log"]]
    assert sum(losses[-10:]) < sum(losses[:10])


def test_trained_model_is_swept_and_its_base_is_not_swept_again(trained: Path) -> None:
    assert n_requests(trained) == N_FINISHED
    assert n_requests(trained, model="tiny-sft") == N_FINISHED


def test_table_has_before_and_after_and_what_was_seen(trained: Path) -> None:
    table = pl.read_parquet(trained / "results/tables/contrasts.parquet").filter(factor="model")
    assert set(table.select("baseline", "condition").rows()) == {("tiny", "tiny-sft")}
    assert set(table["measure"]) == {"follow-up", "accuracy"}
    assert set(table.select("seen", "trains_on_the_metric").rows()) == {(False, False)}
    overlap = pl.read_parquet(trained / "results/tables/training_overlap.parquet")
    row = ("tiny-sft", "word-problems", 5, 0, 0, 0, False, False, True)
    assert overlap.rows() == [row]


def test_audit_finds_a_checkpoint_that_was_altered(trained: Path) -> None:
    (adapter,) = trained.glob("results/checkpoints/tiny-sft/*/checkpoint-60/*.safetensors")
    whole = adapter.read_bytes()
    adapter.write_bytes(whole[:-1])
    found = [f.artifact for f in audit(trained / "results").findings if f.check == "hashes"]
    adapter.write_bytes(whole)
    assert found == [str(adapter.relative_to(trained))]


def test_a_trained_models_folder_is_pinned_wherever_the_results_are(trained: Path) -> None:
    assert [f for f in audit(trained / "results").findings if f.check == "pins"] == []


def test_finished_training_is_planned_again_only_for_what_shapes_it(trained: Path) -> None:
    path = trained / "data/recipes/tiny.yaml"
    recipe = path.read_text()
    path.write_text(f"# a comment\n{recipe}")
    assert not planned(trained, *BEFORE_AND_AFTER)
    path.write_text(recipe.replace("rank: 16", "rank: 8"))
    changed = planned(trained, *BEFORE_AND_AFTER)
    assert (changed["train"], changed["prepare_training_data"], changed["sweep"]) == (1, 0, 1)
    path.write_text(recipe)
    data = trained / "data/training/everyday_conversations.jsonl"
    data.write_text("".join(data.read_text().splitlines(keepends=True)[1:]))
    changed = planned(trained, *BEFORE_AND_AFTER)
    assert (changed["train"], changed["prepare_training_data"]) == (1, 1)
