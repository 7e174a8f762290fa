"""Post-training: make a model folder from a base, a recipe and conversations, with TRL and peft.

Checkpoints are in a folder that is not an output of a rule, so a killed training continues
from the last one. An adapter is trained, and merged into the base when it is finished.
"""

import gc
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from userturn.config.recipes import TRAINING_VERSION
from userturn.errors import UserError, how_to_install
from userturn.logs import say
from userturn.models.convert import merge_adapter
from userturn.models.fetch import model_folder
from userturn.models.whole_model import whole_model
from userturn.processes import StopFlag
from userturn.prompts.chat_template import Template
from userturn.prompts.load_template import load_template
from userturn.storage.files import note_written, write_json
from userturn.storage.hashing import file_sha256, fingerprint
from userturn.storage.leases import lease
from userturn.study.grid import Grid
from userturn.training.checkpoints import last_checkpoint, log_of, remove_torn
from userturn.training.curve import Curve
from userturn.training.draws import write_draws
from userturn.training.grpo import reinforced_trainer, tasks_of
from userturn.training.kept_change import kept_change
from userturn.training.learnt_turns import held_out, learnt_turns, shuffle_answers
from userturn.training.trainer_inputs import (
    TrainerParts,
    Training,
    n_steps_of,
    trainer_arguments,
)
from userturn.wording import number_of


def learnt_rows(
    template: Template, training: Training, is_held_out: bool = False
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return rows for a supervised training, and how many turns were left out or cut, by reason.

    They are of the conversations that are learnt, or if `is_held_out` of the others.
    """
    how = training.recipe["sft"]
    others = held_out(training.rows, training.recipe)
    messages = [
        row["messages"] for row in training.rows if (row["conversation"] in others) == is_held_out
    ]
    if how.get("shuffled"):
        messages = shuffle_answers(messages)
    return learnt_turns(template, messages, how["loss_on"], how["max_tokens"])


def supervised_trainer(training: Training, parts: TrainerParts) -> Any:
    """Return TRL's SFTTrainer over the turns of the conversations that are learnt."""
    from trl import SFTConfig, SFTTrainer

    rows, reasons = learnt_rows(parts.template, training)
    for reason, n in sorted(reasons.items()):
        say(f"train {training.model}: {number_of(n, 'turn')}: {reason}")
    max_tokens = training.recipe["sft"]["max_tokens"]
    configuration = SFTConfig(**parts.arguments, max_length=max_tokens, packing=False)
    return parts.trainer(SFTTrainer, configuration, rows)


QUIET = {  # otherwise TRL reports each run to its makers
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def first_of(gpus: str) -> str:
    """Return the first GPU in CUDA's list of those that a job may see, or "" if it is empty."""
    return gpus.partition(",")[0]


class InterruptedTrainingError(UserError):
    """A training that was told to stop before it had finished."""


def curve_of(training: Training, template: Template) -> Curve | None:
    """Return the curve of a training, or None if its recipe has none."""
    if "curve" not in training.recipe:
        return None
    settings = training.recipe["curve"]
    others = held_out(training.rows, {"curve": settings})
    rows = [row for row in training.rows if row["conversation"] in others]
    return Curve(template, settings, rows, training.checkpoints / "curve")


def _watcher(training: Training, stop: StopFlag, curve: Curve | None) -> Any:
    from transformers import TrainerCallback

    class Watcher(TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
            if curve is not None:  # of the base, or of a checkpoint whose measuring was killed
                curve.measure(objects["model"], state.global_step)

        def on_save(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
            if curve is not None:
                curve.measure(objects["model"], state.global_step)

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if stop.reason is not None:
                control.should_save = control.should_training_stop = True

        def on_log(self, args: Any, state: Any, control: Any, logs: Any, **_: Any) -> None:
            numbers = [f"{key} {logs[key]:.3g}" for key in ("loss", "reward") if key in logs]
            if numbers:
                step = f"step {state.global_step}/{training.n_steps}"
                say(f"train {training.model}: {', '.join([step, *numbers])}")

    return Watcher()


def load_trainer(grid: Grid, training: Training, stop: StopFlag) -> Any:
    """Return TRL's trainer for a recipe, with the base loaded.

    Raises:
        UserError: trl or peft is not installed, or the data does not suit the recipe.
    """
    try:
        import torch
        from peft import LoraConfig
    except ModuleNotFoundError as error:
        raise UserError(
            f"training needs the package '{error.name}', which is not installed; "
            f"{how_to_install('trl')}"
        ) from error
    entry, adapter = training.entry, training.recipe["lora"]
    template = load_template(training.base, entry, grid.config["today"])
    torch.manual_seed(training.recipe["optimisation"]["seed"])
    model = whole_model(
        training.base, dtype=training.dtype, trust_remote_code=entry["trust_remote_code"]
    )
    others = {
        "peft_config": LoraConfig(
            r=adapter["rank"],
            lora_alpha=adapter["alpha"],
            lora_dropout=adapter["dropout"],
            target_modules=adapter["modules"],
            task_type="CAUSAL_LM",
        ),
        "callbacks": [_watcher(training, stop, curve_of(training, template))],
    }
    arguments = trainer_arguments(training, torch.cuda.is_available())
    parts = TrainerParts(model, template, arguments, others)
    if training.recipe["method"] == "sft":
        return supervised_trainer(training, parts)
    return reinforced_trainer(grid, training, parts)


def run_to_the_end(grid: Grid, training: Training, stop: StopFlag) -> Path:
    """Train on from the last checkpoint, and return the folder of the final checkpoint.

    Raises:
        InterruptedTrainingError: a signal came, or another job took the lease over. A checkpoint
            was made.
        UserError: the data does not suit the recipe, an endpoint is down, the memory of the GPU is
            full, or the trainer left no checkpoint.
    """
    step, checkpoint = last_checkpoint(training.checkpoints)
    if checkpoint is None or step < training.n_steps:
        say(f"train {training.model}: from step {step} of {training.n_steps}")
        remove_torn(training.checkpoints)
        with checkpoint_named(training.model, training.checkpoints):
            load_trainer(grid, training, stop).train(resume_from_checkpoint=checkpoint)
        step, checkpoint = last_checkpoint(training.checkpoints)
    if stop.reason is not None and step < training.n_steps:
        raise InterruptedTrainingError(
            f"train {training.model}: stopped by {stop.reason} at step {step} of "
            f"{training.n_steps}, whose checkpoint is kept; run the same command again to continue"
        )
    if checkpoint is None:
        raise UserError(f"train {training.model}: the trainer left no checkpoint; see its log")
    return checkpoint


@contextmanager
def checkpoint_named(model: str, checkpoints: Path) -> Iterator[None]:
    """Add to a UserError, and to the error of a full GPU, which checkpoint is kept."""
    try:
        yield
    except (UserError, RuntimeError) as error:
        reason = str(error)
        if not isinstance(error, UserError):
            if "out of memory" not in reason:
                raise
            reason = (
                f"the memory of the GPU is full ({reason.splitlines()[0]}); ask for a larger one "
                "(`training: {gpu_model: ...}`), or halve `batch` and double `accumulation` in the "
                "recipe, which is another training"
            )
        step, _ = last_checkpoint(checkpoints)
        checkpoint = f"the checkpoint of step {step} is kept" if step else "no step was made yet"
        raise UserError(
            f"train {model}: {reason}; {checkpoint}, run the same command again when it is fixed"
        ) from error


def _write_folder(training: Training, checkpoint: Path, folder: Path) -> None:
    half = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(half, ignore_errors=True)
    merge_adapter(checkpoint, training.base, half)
    shutil.rmtree(folder, ignore_errors=True)
    half.rename(folder)


def train(
    grid: Grid,
    model: str,
    identity: str,
    n_threads: int,
    path_to_data: str | Path,
    path_to_folder: str | Path,
    path_to_record: str | Path,
) -> None:
    """Train a model by its recipe, merge it, and write its folder and the record of its training.

    By GRPO, the table of draws is written beside the folder, as `draws.parquet`.

    Raises:
        UserError: as for `run_to_the_end`, or another job trains the model.
    """
    os.environ.update(QUIET | {"OMP_NUM_THREADS": str(n_threads)})
    # On several GPUs the trainer would multiply `batch` by their number.
    os.environ["CUDA_VISIBLE_DEVICES"] = first_of(os.environ.get("CUDA_VISIBLE_DEVICES", "0"))
    entry, stop = grid.entries[model], StopFlag()
    base = json.loads(Path(grid.results, "models", f"{entry['base']}.json").read_text())
    learnt_from = {
        "training": identity,
        "base_identity": base["identity"],
        "data_sha256": file_sha256(path_to_data),
    }
    with lease(grid.results / "leases" / "training" / model, "1of1", stop.set):
        stop.listen()
        training = Training(
            model,
            grid.contents.recipes[model],
            model_folder(grid.entries[entry["base"]]["source"], base["revision"]),
            entry,
            grid.entries[entry["base"]]["dtype"],
            grid.results / "checkpoints" / model / fingerprint(learnt_from),
            pl.read_parquet(path_to_data).to_dicts(),
        )
        template = load_template(training.base, entry, grid.config["today"])
        is_sft = training.recipe["method"] == "sft"
        n_rows = len(learnt_rows(template, training)[0]) if is_sft else 0
        training = replace(training, n_steps=n_steps_of(training.recipe, n_rows))
        checkpoint = run_to_the_end(grid, training, stop)
        callbacks = [
            training.checkpoints.glob(f"{name}/*.jsonl") for name in ("replies", "draws", "curve")
        ]
        for file in sorted(chain(checkpoint.rglob("*"), *callbacks)):
            note_written(file)
        _write_folder(training, checkpoint, Path(path_to_folder))
        if training.recipe["method"] == "grpo":
            path_to_draws = Path(path_to_folder).with_name("draws.parquet")
            write_draws(training.checkpoints / "draws", path_to_draws, identity)
        with checkpoint_named(model, training.checkpoints):
            about = _record(training, template, checkpoint, Path(path_to_folder))
        origin = {"base": entry["base"], "base_revision": base["revision"]}
        write_json({**origin, **learnt_from, **about}, path_to_record, identity)


def _record(
    training: Training, template: Template, checkpoint: Path, folder: Path
) -> dict[str, Any]:
    gc.collect()  # the trainer, whose parts know each other, and with it the memory of a GPU
    others: list[dict[str, Any]] = []
    if training.recipe["method"] == "sft":
        rows, left_out = learnt_rows(template, training)
        ids = [row["input_ids"] for row in rows]
        if training.recipe["sft"].get("validation"):
            others, _ = learnt_rows(template, training, is_held_out=True)
    else:
        tasks = tasks_of(template, training)
        ids, left_out = [task.prompt.token_ids for task in tasks], {}
    change = kept_change(training.base, checkpoint, folder, training.entry, ids, others)
    curve = curve_of(training, template)
    return {
        **{"n_learnt": len(ids), "left_out": left_out, "kept_change": change},
        **({"curve": curve.points} if curve else {}),
        **{"recipe": training.recipe, "version": TRAINING_VERSION},
        **{"n_conversations": len(training.rows), "log": log_of(checkpoint)},
    }
