"""Weights that are not whole are refused by their headers, before anything is loaded."""

import json
from pathlib import Path

import pytest

from userturn.errors import UserError
from userturn.models.whole_model import INDEX, check_weight_files

# One tensor of 8 bytes: the length of the header, the header, the tensor.
HEADER = json.dumps({"__metadata__": {}, "a": {"data_offsets": [0, 8]}}).encode()
WHOLE = len(HEADER).to_bytes(8, "little") + HEADER + bytes(8)


@pytest.fixture(autouse=True)
def described(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (WHOLE[:-1], f"has {len(WHOLE) - 1} bytes, expected {len(WHOLE)} by its header"),
        (WHOLE + b"x", f"has {len(WHOLE) + 1} bytes, expected {len(WHOLE)} by its header"),
        (WHOLE[:20], "its header cannot be read"),
        (b"", "its header cannot be read"),
        (b"version https://git-lfs.github.com/spec/v1\n", "its header cannot be read"),
    ],
)
def test_file_that_was_cut_or_is_another_is_refused(
    content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(UserError, match=said):
        check_weight_files(tmp_path)


def test_file_that_the_index_names_and_that_did_not_arrive_is_named(tmp_path: Path) -> None:
    (tmp_path / "model-1.safetensors").write_bytes(WHOLE)
    weights = {"a": "model-1.safetensors", "b": "model-2.safetensors"}
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": weights}))
    with pytest.raises(UserError, match=r"lacks 1 of the 2 files .* 'model-2.safetensors'"):
        check_weight_files(tmp_path)


@pytest.mark.parametrize("index", [{}, {"weight_map": [1]}, {"weight_map": {"a": 3}}])
def test_index_that_names_no_files_is_refused(index: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / INDEX).write_text(json.dumps(index))
    with pytest.raises(UserError, match="has no `weight_map` from weights to files"):
        check_weight_files(tmp_path)


def test_folder_without_weights_is_refused_and_whole_ones_pass(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no weights"):
        check_weight_files(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(WHOLE)
    check_weight_files(tmp_path)


def test_link_to_content_that_was_removed_from_a_cache_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").symlink_to("gone")
    with pytest.raises(UserError, match=r"model.safetensors' is a link to a file that is gone"):
        check_weight_files(tmp_path)


@pytest.mark.parametrize(("config", "said"), [("[]", "holds a list"), ('{"a": ', "is not JSON")])
def test_config_that_was_cut_or_is_another_is_refused(
    config: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "model.safetensors").write_bytes(WHOLE)
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(UserError, match=f"config.json' {said}"):
        check_weight_files(tmp_path)
