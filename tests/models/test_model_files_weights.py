"""A local model's large files are identified by all of their bytes, and each is read once."""

from pathlib import Path

import pytest

from userturn.errors import UserError
from userturn.models.fetch import source_identity
from userturn.models.model_files import changed_weights, check_weights, weights_sha256
from userturn.storage.hashing import WHOLE_FILE_LIMIT, file_sha256


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model's folder: a file just over 64 MiB, full of zeros, and a small one."""
    monkeypatch.setenv("USERTURN_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    folder.mkdir()
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(WHOLE_FILE_LIMIT + 1)
    (folder / "config.json").write_text("{}")
    return folder


def train_further(model: Path) -> None:
    with (model / "model.safetensors").open("r+b") as file:
        file.seek(WHOLE_FILE_LIMIT // 2)
        file.write(b"trained")


def test_only_large_local_files_need_a_whole_hash(model: Path) -> None:
    path = model / "model.safetensors"
    assert weights_sha256(str(model)) == {path.name: file_sha256(path)}
    assert weights_sha256(str(path)) == {path.name: file_sha256(path)}
    assert weights_sha256("org/name") == {}


def test_a_model_trained_further_keeps_its_identity_and_is_refused(model: Path) -> None:
    described, identity = weights_sha256(str(model)), source_identity(str(model), None)
    check_weights("mine", str(model), described)
    train_further(model)
    assert source_identity(str(model), None) == identity
    assert changed_weights(str(model), described) is not None
    with pytest.raises(UserError, match="was changed after it was described"):
        check_weights("mine", str(model), described)


def test_a_file_that_is_gone_differs(model: Path) -> None:
    described = weights_sha256(str(model))
    (model / "model.safetensors").unlink()
    expected, found = changed_weights(str(model), described) or ("", "")
    assert expected.startswith("model.safetensors ") and found == "model.safetensors none"


def test_a_model_described_without_whole_hashes_is_not_refused(model: Path) -> None:
    check_weights("mine", str(model), {})


def test_a_hash_is_taken_from_the_cache_while_size_time_and_inode_are_the_same(
    model: Path, tmp_path: Path
) -> None:
    weights_sha256(str(model))
    (kept,) = (tmp_path / "cache" / "sha256").iterdir()
    kept.write_text("known")
    assert weights_sha256(str(model)) == {"model.safetensors": "known"}
