"""One training: its inputs, and its trainer's arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from userturn.config.model_keys import ModelEntry
from userturn.config.recipes import Recipe
from userturn.prompts.chat_template import Template


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
