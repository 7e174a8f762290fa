"""A checkpoint counts once all of its files are whole."""

import json
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from userturn.training.checkpoints import last_checkpoint, remove_torn

FILES = (
    "adapter_model.safetensors",
    "optimizer.pt",
    "rng_state.pth",
    "training_args.bin",
    "adapter_config.json",
    "trainer_state.json",
)


def write_checkpoint(folder: Path, step: int) -> Path:
    """Write the kinds of files that a trainer writes."""
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True)
    save_file({"weight": torch.zeros(3)}, path / FILES[0])
    for name in FILES[1:4]:
        torch.save({"state": torch.zeros(3)}, path / name)
    (path / FILES[4]).write_text("{}")
    (path / FILES[5]).write_text(json.dumps({"log_history": [{"step": step, "loss": 1.0}]}))
    return path


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0, 0.5, 0.9])
def test_checkpoint_with_a_file_cut_short_is_passed_over(
    name: str, share: float, tmp_path: Path
) -> None:
    whole, torn = write_checkpoint(tmp_path, 2), write_checkpoint(tmp_path, 10)
    assert last_checkpoint(tmp_path) == (10, torn)
    content = (torn / name).read_bytes()
    (torn / name).write_bytes(content[: int(share * len(content))])
    assert last_checkpoint(tmp_path) == (2, whole)


def test_checkpoint_without_its_state_is_passed_over(tmp_path: Path) -> None:
    whole, torn = write_checkpoint(tmp_path, 2), write_checkpoint(tmp_path, 10)
    (torn / "trainer_state.json").unlink()
    assert last_checkpoint(tmp_path) == (2, whole)


def test_torn_checkpoints_are_removed_and_whole_ones_kept(tmp_path: Path) -> None:
    whole, torn = write_checkpoint(tmp_path, 2), write_checkpoint(tmp_path, 10)
    (torn / "trainer_state.json").write_bytes(b"")
    remove_torn(tmp_path)
    assert sorted(tmp_path.iterdir()) == [whole]
    assert zipfile.is_zipfile(whole / "optimizer.pt")


def test_no_checkpoint_is_no_step(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path / "nothing") == (0, None)
    torn = write_checkpoint(tmp_path, 2)
    (torn / "trainer_state.json").write_bytes(b"")
    assert last_checkpoint(tmp_path) == (0, None)
