"""The checkpoints of a training: the last whole one, and what it says of each step."""

import json
import shutil
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from userturn.errors import UserError
from userturn.models.whole_model import check_safetensors

STATE = "trainer_state.json"  # what the trainer writes last of a checkpoint
TORCH = (".pt", ".pth", ".bin")
LOGGED = ("step", "loss", "grad_norm", "mean_token_accuracy", "entropy", "kl", "reward")


def last_checkpoint(folder: Path) -> tuple[int, Path | None]:
    """Return the step and folder of the last whole checkpoint; 0 and None if there is none."""
    found = {step: path for step, path in _by_step(folder).items() if is_whole(path)}
    return max(found.items()) if found else (0, None)


def remove_torn(folder: Path) -> None:
    """Remove the checkpoints that a killed training did not finish writing.

    The trainer keeps the checkpoint of the highest step alone, whole or not.
    """
    for path in _by_step(folder).values():
        if not is_whole(path):
            shutil.rmtree(path)


def _by_step(folder: Path) -> dict[int, Path]:
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
    """Return whether a file has an end, by its format; UserError or ValueError if it has none."""
    if path.suffix == ".safetensors":
        check_safetensors(path)
    elif path.suffix == ".json":
        json.loads(path.read_bytes())
    elif path.suffix in TORCH:
        return is_zipfile(path)  # PyTorch writes zip archives, whose list of members comes last
    return True


def log_of(checkpoint: Path) -> list[dict[str, Any]]:
    """Return loss and rewards by step, without what differs from run to run."""
    history = json.loads((checkpoint / STATE).read_text())["log_history"]
    return [
        {key: value for key, value in entry.items() if key in LOGGED or key.startswith("rewards/")}
        for entry in history
        if "loss" in entry
    ]
