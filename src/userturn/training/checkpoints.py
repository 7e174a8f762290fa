"""The checkpoints of a training: which are whole, and what the last one's log says."""

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
