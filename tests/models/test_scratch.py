"""Weights are copied once to a node's own disk, whole, and again when they have changed."""

from pathlib import Path

import pytest

from userturn.errors import UserError
from userturn.models.scratch import copy_on_scratch


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder as the hub's cache has them, of links, and name a scratch by a variable."""
    (tmp_path / "blob").write_text("weights")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "model.safetensors").symlink_to("../blob")
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("OF_THE_JOB", str(tmp_path / "scratch"))
    monkeypatch.setenv("USERTURN_SCRATCH", "$OF_THE_JOB")
    return tmp_path / "shared"


def test_what_links_lead_to_is_copied_once(model: Path) -> None:
    copy = copy_on_scratch(model)
    assert copy.is_relative_to(model.parent / "scratch")
    assert (copy / "model.safetensors").read_text() == "weights"
    assert not (copy / "model.safetensors").is_symlink()
    (copy / "mark").touch()
    assert (copy_on_scratch(model) / "mark").exists()


def test_changed_weights_are_copied_again(model: Path) -> None:
    first = copy_on_scratch(model)
    (model.parent / "blob").write_text("other weights")
    assert copy_on_scratch(model) != first


def test_scratch_that_is_not_there_is_told(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OF_THE_JOB")
    with pytest.raises(UserError, match=r"USERTURN_SCRATCH is '\$OF_THE_JOB', which is not"):
        copy_on_scratch(model)
