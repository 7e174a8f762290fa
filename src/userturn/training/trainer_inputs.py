"""One training: its inputs, its trainer's arguments, and its last whole checkpoint."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from userturn.config.model_keys import ModelEntry
from userturn.config.recipes import Recipe
from userturn.errors import UserError
from userturn.models.whole_model import check_safetensors
from userturn.prompts.chat_template import Template

STATE = "trainer_state.json"  # what the trainer writes last of a checkpoint
TORCH = (".pt", ".pth", ".bin")
LOGGED = ("step", "loss", "grad_norm", "mean_token_accuracy", "entropy", "kl", "reward")


def last_checkpoint(folder: Path) -> tuple[int, Path | None]:
    """Return the step and folder of the last whole checkpoint, or 0 and None without one."""
    checkpoints = {
        step: path for step, path in _checkpoints_by_step(folder).items() if is_whole(path)
    }
    return max(checkpoints.items()) if checkpoints else (0, None)


def remove_torn(folder: Path) -> None:
    """Remove the checkpoints that a killed training did not finish writing.

    The trainer keeps only the checkpoint of the highest step. If that were a torn one, the last
    whole one would be deleted.
    """
    for path in _checkpoints_by_step(folder).values():
        if not is_whole(path):
            shutil.rmtree(path)


def _checkpoints_by_step(folder: Path) -> dict[int, Path]:
    paths = [path for path in folder.glob("checkpoint-*") if path.is_dir()]
    return {int(path.name.rpartition("-")[2]): path for path in paths}


def is_whole(checkpoint: Path) -> bool:
    """Return whether every file of a checkpoint has been written to its end."""
    try:
        log_of(checkpoint)
        return all(_is_whole_file(path) for path in checkpoint.iterdir())
    except (OSError, ValueError, LookupError, TypeError, UserError):
        return False


def _is_whole_file(path: Path) -> bool:
    """Return whether a file is complete by its format, or raise UserError or ValueError."""
    if path.suffix == ".safetensors":
        check_safetensors(path)
    elif path.suffix == ".json":
        json.loads(path.read_bytes())
    elif path.suffix in TORCH:
        return is_zipfile(path)  # PyTorch writes zip archives, whose list of members comes last
    return True


def log_of(checkpoint: Path) -> list[dict[str, Any]]:
    """Return the log of loss and rewards per step, without fields that differ from run to run."""
    history = json.loads((checkpoint / STATE).read_text())["log_history"]
    return [
        {key: value for key, value in entry.items() if key in LOGGED or key.startswith("rewards/")}
        for entry in history
        if "loss" in entry
    ]


@dataclass(frozen=True)
class Training:
    """The inputs of one training."""

    model: str
    recipe: Recipe
    base: Path  # folder
    entry: ModelEntry  # complete
    dtype: str  # of the base while it is trained
    checkpoints: Path  # folder of them
    rows: list[dict[str, Any]]  # of the prepared training data
    n_steps: int = 0  # updates of the weights


@dataclass(frozen=True)
class TrainerParts:
    """The parts of a trainer, for any method."""

    model: Any  # the base
    template: Template
    arguments: Mapping[str, Any]  # of the trainer's configuration
    others: Mapping[str, Any]  # arguments of the trainer itself: adapter and callbacks

    def trainer(self, kind: Any, configuration: Any, rows: list[dict[str, Any]], **own: Any) -> Any:
        """Return a trainer of the class `kind` over some rows, with that class's arguments."""
        from datasets import Dataset

        return kind(
            model=self.model,
            args=configuration,
            train_dataset=Dataset.from_list(rows),
            processing_class=self.template.tokenizer,
            **self.others,
            **own,
        )


def n_steps_of(recipe: Recipe, n_rows: int) -> int:
    """Return the number of updates of the weights that a recipe makes with `n_rows` rows."""
    how = recipe["optimisation"]
    if "steps" in how:
        return int(how["steps"])
    rows_at_once = int(how["batch"]) * int(how["accumulation"])
    return ceil(float(how["epochs"]) * n_rows / rows_at_once)


def trainer_arguments(training: Training, has_gpu: bool) -> dict[str, Any]:
    """Return the arguments of a trainer's configuration that all methods share."""
    how = training.recipe["optimisation"]
    schedule = how["schedule"]
    return {
        "output_dir": str(training.checkpoints),
        "max_steps": training.n_steps,
        "per_device_train_batch_size": how["batch"],
        "gradient_accumulation_steps": how["accumulation"],
        "learning_rate": how["learning_rate"],
        "lr_scheduler_type": "constant_with_warmup" if schedule == "constant" else schedule,
        "warmup_steps": round(how["warmup"] * training.n_steps),
        "gradient_checkpointing": how.get("gradient_checkpointing", False),
        "seed": how["seed"],
        "save_strategy": "steps",
        "save_steps": how["checkpoint_every"],
        "save_total_limit": 1,
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "bf16": training.dtype == "bfloat16",
        "use_cpu": not has_gpu,
        "dataloader_pin_memory": has_gpu,
    }
