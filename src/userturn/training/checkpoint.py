"""The checkpoints of a training: the last one, and what it says of each step."""

import json
from pathlib import Path
from typing import Any

STATE = "trainer_state.json"  # what the trainer writes last of a checkpoint
LOGGED = ("step", "loss", "grad_norm", "mean_token_accuracy", "entropy", "kl", "reward")


def last_checkpoint(folder: Path) -> tuple[int, Path | None]:
    """Return the step and folder of the last complete checkpoint; 0 and None if there is none."""
    found = {
        int(path.parent.name.rpartition("-")[2]): path.parent
        for path in folder.glob(f"checkpoint-*/{STATE}")
    }
    return max(found.items()) if found else (0, None)


def log_of(checkpoint: Path) -> list[dict[str, Any]]:
    """Return loss and rewards by step, without what differs from run to run."""
    history = json.loads((checkpoint / STATE).read_text())["log_history"]
    return [
        {key: value for key, value in entry.items() if key in LOGGED or key.startswith("rewards/")}
        for entry in history
        if "loss" in entry
    ]
