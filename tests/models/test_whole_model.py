"""A model or an adapter that lacks a weight is refused, and not filled in."""

import json
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from tests.models.test_fetch import write_adapter
from tests.support.snakemake_runs import ROOT
from tests.support.tiny_families import FAMILIES, write_family
from tests.support.tiny_grid import tiny_grid
from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.models.engine import load_engine
from userturn.models.fetch import local_path, model_folder
from userturn.models.whole_model import INDEX, check_weight_files, check_weights, class_for

SETTINGS = {"dtype": "float32", "max_model_len": 64}


def leave_out(file: Path, part: str) -> str:
    """Write a file of weights again without the first whose name has a part; return its name."""
    weights = load_file(file)
    name = next(name for name in sorted(weights) if part in name)
    save_file({n: w for n, w in weights.items() if n != name}, file, metadata={"format": "pt"})
    return name


def test_weights_that_a_folder_lacks_are_never_random_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERTURN_CACHE", str(tmp_path / "cache"))
    base = write_tiny_model(tmp_path / "base")
    load_engine("transformers", base, SETTINGS)
    adapter = write_adapter(tmp_path / "adapter", base)
    leave_out(adapter / "adapter_model.safetensors", "lora_B")
    with pytest.raises(UserError, match="adapter' lacks weights that its config puts on the base"):
        model_folder(str(adapter))
    name = leave_out(base / "model.safetensors", "layers.0.mlp.down_proj")
    with pytest.raises(UserError, match=f"lacks 1 of the weights .* such as '{name}'"):
        load_engine("transformers", base, SETTINGS)
    with pytest.raises(UserError, match=f"lacks 1 of the weights .* such as '{name}'"):
        model_folder(str(write_adapter(tmp_path / "second", base)))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_weight_that_vllm_would_make_up_is_named_without_loading(
    family: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = write_family(family, tmp_path)
    capfd.readouterr()
    check_weights(folder)
    name = leave_out(folder / "model.safetensors", "self_attn.k_proj")
    with pytest.raises(UserError, match=f"lacks 1 of the weights .* such as '{name}'"):
        check_weights(folder)
    assert capfd.readouterr() == ("", "")


def test_model_that_lacks_a_weight_is_refused_before_it_is_swept(tmp_path: Path) -> None:
    leave_out(write_tiny_model(tmp_path / "model") / "model.safetensors", "0.mlp.down_proj")
    with pytest.raises(UserError, match="lacks 1 of the weights"):
        tiny_grid(tmp_path, 1, run={"models": ["tiny"], "datasets": ["items"]})


def test_nothing_is_said_of_weights_that_vllm_may_know_better(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path)
    leave_out(folder / "model.safetensors", "layers.0.mlp.down_proj")
    with pytest.raises(UserError, match="lacks 1 of the weights"):
        check_weights(folder)
    config = json.loads((folder / "config.json").read_text())
    others = (
        {"quantization_config": {"quant_method": "awq"}},
        {"text_config": {"quantization_config": {"quant_method": "mxfp4"}}},
        {"architectures": ["OfNobodyForCausalLM"]},
        {"architectures": None},
        {"auto_map": {"AutoModelForCausalLM": "modeling.Mine"}},
    )
    for other in others:
        (folder / "config.json").write_text(json.dumps(config | other))
        check_weights(folder)
    (folder / "config.json").write_text(json.dumps(config))
    weights = load_file(folder / "model.safetensors") | {"under.another.name": torch.ones(2)}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    check_weights(folder)


def test_adapter_whose_base_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": ["x"]}))
    with pytest.raises(UserError, match="names no base model"):
        model_folder(str(tmp_path))


@pytest.mark.slow
def test_cut_adapter_and_unknown_kind_of_weights_are_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERTURN_CACHE", str(tmp_path / "cache"))
    base = write_tiny_model(tmp_path / "base")
    settings = {"peft_type": "LORA", "base_model_name_or_path": str(base)}
    (tmp_path / "adapter_config.json").write_text(json.dumps(settings))
    (tmp_path / "adapter_model.safetensors").write_bytes(b"x")
    with pytest.raises(UserError, match="is not a safetensors file"):
        model_folder(str(tmp_path))
    config = json.loads((base / "config.json").read_text())
    for kind in ([], {"quant_method": "compressed-tensors"}):
        (base / "config.json").write_text(json.dumps(config | {"quantization_config": kind}))
        with pytest.raises(UserError, match="engine 'transformers' cannot load"):
            load_engine("transformers", base, SETTINGS)


@pytest.mark.slow
def test_a_folder_with_a_gguf_file_alone_is_loaded_by_what_the_file_says() -> None:
    study = yaml.safe_load((ROOT / "profiles/demo/study.yaml").read_text())
    path = local_path(study["models"]["smollm2-135m"]["source"])
    assert path is not None and not (path.parent / "config.json").exists()
    assert class_for(path.parent, {"gguf_file": path.name}) is AutoModelForCausalLM


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
