"""Setups that an engine would refuse are refused before a sweep is queued, each with its cause."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.support.judge_server import http, judge_server
from tests.support.snakemake_runs import ROOT
from tests.support.tiny_model import write_tiny_model
from userturn.errors import UserError
from userturn.generation.describe_model import describe_model
from userturn.judges.check_entries import check_served_judge
from userturn.models.engine_setup import Setup
from userturn.models.setup_gpus import refusals_of_blocks
from userturn.models.setup_refusals import classes_of_vllm, quantizations_of_vllm
from userturn.study.grid import Grid
from userturn.study.model_description import longest_text, read_description

has_vllm = pytest.mark.skipif(not classes_of_vllm(), reason="vLLM is not installed")
HYBRID = {
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "num_hidden_layers": 4,
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 48,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "mamba_ssm_dtype": "float32",
}
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
WIDE = {"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128}
INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that both engines load: two heads of 32, and texts of 1,024 tokens."""
    folder = write_tiny_model(tmp_path_factory.mktemp("whole") / "model", width=64)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_position_embeddings": 1024}))
    return folder


def write_large(folder: Path, n_gigabytes: int) -> None:
    """Write weights in bfloat16 that take no room on the disk."""
    n = n_gigabytes * 2**29
    header = json.dumps({"w": {"dtype": "BF16", "shape": [n], "data_offsets": [0, 2 * n]}}).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 2 * n)


def cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def leave_link(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(folder / "gone")


def name_shard(folder: Path) -> None:
    named = {"a": "model.safetensors", "b": "model-2.safetensors"}
    (folder / INDEX).write_text(json.dumps({"weight_map": named}))


class Broken(NamedTuple):
    """One broken setup.

    Attributes:
        cause: what the sentence must say.
        config: other values in config.json; None takes a key out.
        entry: keys of the model's entry.
        study: keys of the configuration.
        act: what is done to the folder.
    """

    cause: str
    config: Mapping[str, Any] = {}
    entry: Mapping[str, Any] = {}
    study: Mapping[str, Any] = {}
    act: Callable[[Path], Any] = Path.stat


OTHER, EXACT = {"engine": "transformers"}, {"determinism": "exact"}
BF16 = {"dtype": "bfloat16"}
MODELS = {
    "longer than the model": Broken("max_model_len is 4096, .* 1024", {}, {"max_model_len": 4096}),
    "no room for an answer": Broken(
        "an answer may take 1024 .* together 1024", {}, {"answer": {"max_tokens": 1024}}
    ),
    "no room beside the shortest prompt": Broken(
        "no room for a prompt of 1?[0-9]", {}, {"answer": {"max_tokens": 1020}}
    ),
    "no room for a user turn": Broken(
        "a user turn may take 2000 ", {}, {}, {"user_turn": {"max_tokens": 2000}}
    ),
    "exact with linear attention": Broken(
        "VLLM_BATCH_INVARIANT .* 'linear_attention'", HYBRID, {"gpus": 1}, EXACT
    ),
    "exact with convolutions": Broken(
        "VLLM_BATCH_INVARIANT .* 'conv'",
        {"layer_types": ["conv", "full_attention"]},
        {"gpus": 1},
        EXACT,
    ),
    "exact with layers that do both": Broken(
        "VLLM_BATCH_INVARIANT .* 'mamba_d_ssm'", {"mamba_d_ssm": 128}, {"gpus": 1}, EXACT
    ),
    "heads": Broken("4 GPUs do not divide its 2 heads of attention", {}, {"gpus": 4}),
    "heads of keys": Broken(
        "12 GPUs neither divide its 8 heads of keys",
        {"num_attention_heads": 24, "num_key_value_heads": 8, "intermediate_size": 96},
        {"gpus": 12},
    ),
    "width of a layer": Broken(
        "4 GPUs do not divide its 66 columns", WIDE | {"intermediate_size": 66}, {"gpus": 4}
    ),
    "heads of linear attention": Broken(
        "8 GPUs do not divide its 12 key heads of linear",
        HYBRID | WIDE | {"linear_num_key_heads": 12},
        {"gpus": 8},
    ),
    "blocks of a dense model": Broken(
        "blocks of 128, .* 384 .* each of 2 GPUs gets 192",
        WIDE | {"intermediate_size": 384, "quantization_config": FP8},
        {"gpus": 2},
    ),
    "blocks of experts": Broken(
        "1408 .* 8 GPUs gets 176.*enable_expert_parallel",
        WIDE
        | {"num_experts": 64, "moe_intermediate_size": 1408, "quantization_config": FP8}
        | {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe"},
        {"gpus": 8},
    ),
    "groups of quantised weights": Broken(
        "blocks of 128, .* 2 GPUs gets 320",
        WIDE
        | {"intermediate_size": 640}
        | {"quantization_config": {"quant_method": "awq", "group_size": 128, "bits": 4}},
        {"gpus": 2},
    ),
    # 48 heads of 128 x 128 numbers of 4 bytes are 3 MiB: of 36 - 35 GiB, 341 requests have room.
    "states of a hybrid": Broken(
        "max_num_seqs is 400, .* holds the states of 341 requests",
        HYBRID,
        BF16 | {"gpus": 1, "gpu_model": "a100_40gb", "vllm": {"max_num_seqs": 400}},
        act=lambda folder: write_large(folder, 35),
    ),
    "weights larger than the named card": Broken(
        "weights take 80 GB, and one a100 .80 GB. has 72 GB",
        {},
        BF16 | {"gpus": 1, "gpu_model": "a100"},
        act=lambda folder: write_large(folder, 80),
    ),
    "weights larger than any card": Broken(
        "weights take 400 GB, and one GPU of 288 GB, the largest there is, has 259 GB",
        {},
        BF16 | {"gpus": 1},
        act=lambda folder: write_large(folder, 400),
    ),
    "weights larger than the one card that transformers uses": Broken(
        "uses one GPU",
        {},
        BF16 | {"gpus": 2, "gpu_model": "a100"},
        OTHER,
        act=lambda folder: write_large(folder, 100),
    ),
    "card without bfloat16": Broken(
        "a v100 has no bfloat16", {}, {"gpus": 1, "gpu_model": "v100", "dtype": "bfloat16"}
    ),
    "float16": Broken(
        "refuses float16 for gemma2",
        {"architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2"},
        {"dtype": "float16"},
    ),
    "unknown family": Broken("family 'alien' is known to no engine", {"model_type": "alien"}),
    "unknown class": Broken(
        "class AlienForCausalLM is none that vllm", {"architectures": ["AlienForCausalLM"]}
    ),
    "class of vLLM alone": Broken(
        "none that transformers writes texts with here; set `engine: vllm`",
        {"architectures": ["BailingMoeForCausalLM"]},
        study=OTHER,
    ),
    "code of its own": Broken(
        "set `trust_remote_code: true`",
        {"architectures": ["OwnModel"], "auto_map": {"AutoModelForCausalLM": "own.OwnModel"}},
    ),
    "code that is not there": Broken(
        "lacks 'own.py'",
        {"auto_map": {"AutoModelForCausalLM": "own.OwnModel"}},
        {"trust_remote_code": True},
    ),
    "classifier": Broken(
        "LlamaForSequenceClassification is none that",
        {"architectures": ["LlamaForSequenceClassification"]},
    ),
    "encoder": Broken(
        "T5ForConditionalGeneration has an encoder",
        {
            "architectures": ["T5ForConditionalGeneration"],
            "model_type": "t5",
            "is_encoder_decoder": True,
        },
    ),
    "no class": Broken("has no architectures", {"architectures": None}),
    "no family": Broken("has no model_type", {"model_type": None}),
    "quantisation that vLLM lacks": Broken(
        "quantised as 'quip', which vllm", {"quantization_config": {"quant_method": "quip"}}
    ),
    "quantisation that transformers lacks": Broken(
        "quantised as 'quip', which transformers",
        {"quantization_config": {"quant_method": "quip"}},
        study=OTHER,
    ),
    "quantisation without its package": Broken(
        "cannot read its aqlm weights: .*aqlm",
        {"quantization_config": {"quant_method": "aqlm"}},
        study=OTHER,
    ),
    "quantised twice": Broken(
        "`vllm: {quantization: fp8}` of weights that are quantised as gptq",
        {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}},
        {"vllm": {"quantization": "fp8"}},
    ),
    "MXFP4 on a CPU": Broken(
        "no code for mxfp4 weights on a CPU", {"quantization_config": {"quant_method": "mxfp4"}}
    ),
    "quantisation without a name": Broken(
        "names no quant_method", {"quantization_config": {"bits": 4}}
    ),
    "shard that is missing": Broken("lacks 1 of the 2 files", act=name_shard),
    "file that was cut": Broken("bytes, expected", act=cut),
    "no weights": Broken("has no weights", act=lambda f: (f / "model.safetensors").unlink()),
    "link to nothing": Broken("a file that is gone", act=leave_link),
    "other widths in the weights": Broken("in the shape", {"intermediate_size": 128}),
    "config that was cut": Broken(
        "is not JSON", act=lambda f: (f / "config.json").write_text('{"architectures": ["Lla')
    ),
    "no tokenizer": Broken("no tokenizer", act=lambda f: (f / "tokenizer.json").unlink()),
    "no template": Broken("no chat template", act=lambda f: (f / "chat_template.jinja").unlink()),
    "setting that is none": Broken(
        "vLLM has no setting 'max_seqs'", study={"vllm": {"max_seqs": 4}}
    ),
    "steps of fewer tokens than requests": Broken(
        "max_num_batched_tokens is 64, fewer than max_num_seqs .256.",
        {},
        {"gpus": 1, "vllm": {"max_num_batched_tokens": 64}},
    ),
    "experts of a model without": Broken(
        "the model has no experts", {}, {"gpus": 2, "vllm": {"enable_expert_parallel": True}}
    ),
    "heads that vLLM lacks on a CPU": Broken("heads have 16 numbers", {"head_dim": 16}),
    "latent attention on a CPU": Broken("latent attention, .* wrong texts", {"kv_lora_rank": 32}),
    "convolutions on a CPU": Broken(
        "layers of convolution, .* wrong texts", {"layer_types": ["conv", "full_attention"]}
    ),
    "more nodes than layers": Broken("2 layers .* 4 nodes", {}, {"gpus": 4, "nodes": 4}),
}  # fmt: skip


def broken_folder(whole: Path, folder: Path, broken: Broken) -> Path:
    """Write a copy of a model that is broken."""
    shutil.copytree(whole, folder)
    path = folder / "config.json"
    changed = json.loads(path.read_text()) | dict(broken.config)
    path.write_text(json.dumps({k: v for k, v in changed.items() if v is not None}))
    broken.act(folder)
    return folder


def grid_of(folder: Path, results: Path, entry: Mapping[str, Any], **study: Any) -> Grid:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    tiny = {"source": str(folder), "dtype": "float32", "gpus": 0} | dict(entry)
    config |= {"models": {"tiny": tiny}, "datasets": {}, "run": {}, "likelihood": False}
    config |= {"controls": {"human": [], "planted": 0}, "engine": "vllm"}
    for name, value in {"answer": {"max_tokens": 64}, **study}.items():
        config[name] = config[name] | value if isinstance(value, Mapping) else value
    return Grid(config, results)


@has_vllm
@pytest.mark.parametrize("name", MODELS)
def test_model_that_an_engine_would_refuse_is_refused_when_it_is_described(
    name: str, whole: Path, tmp_path: Path
) -> None:
    broken = MODELS[name]
    folder = broken_folder(whole, tmp_path / "model", broken)
    path = tmp_path / "tiny.json"
    with pytest.raises(UserError, match=broken.cause) as refused:
        describe_model(grid_of(folder, tmp_path, broken.entry, **broken.study), "tiny", path)
    assert "\n" not in str(refused.value)
    assert not path.exists()


JUDGES = {
    "context smaller than the question": Broken(
        "a verdict may take 64 tokens, .* no room", {"max_position_embeddings": 512}
    ),
    "longer than its model": Broken(
        "max_model_len is 16384, .* 8192", {}, {"vllm": {"max_model_len": 16384}}
    ),
    "more parts than GPUs": Broken(
        "size is 2, and its job has 1 GPUs", {}, {"vllm": {"tensor_parallel_size": 2}}
    ),
    "heads": Broken("4 GPUs do not divide its 2 heads", {}, {"gpus": 4}),
    "shard that is missing": Broken("lacks 1 of the 2 files", act=name_shard),
    "unknown class": Broken("AlienForCausalLM is none", {"architectures": ["AlienForCausalLM"]}),
    "setting that is none": Broken("no setting 'max_seqs'", {}, {"vllm": {"max_seqs": 4}}),
    "missing folder": Broken("does not exist", act=shutil.rmtree),
    "no class": Broken("has no architectures", {"architectures": None}),
}  # fmt: skip


@has_vllm
@pytest.mark.parametrize("name", JUDGES)
def test_judge_that_its_server_would_refuse_is_refused(
    name: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = JUDGES[name]._replace(
        config={"max_position_embeddings": 8192} | dict(JUDGES[name].config)
    )
    folder = broken_folder(whole, tmp_path / "judge", broken)
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    own = {"kind": "endpoint", "serve": True, "model": str(folder), "settings": {"max_tokens": 64}}
    monkeypatch.chdir(ROOT)
    with pytest.raises(UserError, match=broken.cause):
        check_served_judge("mine", config["judge_defaults"] | own | dict(broken.entry))


@pytest.mark.slow
def test_hub_s_refusal_of_a_judge_is_known_without_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    entry = {"model": "org/gated"}
    with judge_server(lambda _: http(403, b"", "X-Error-Code: GatedRepo")) as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url.removesuffix("/v1"))
        with pytest.raises(UserError, match=r"'org/gated' .* is gated: accept its terms"):
            check_served_judge("mine", entry)
    check_served_judge("mine", entry)  # no hub answers: nothing is known


def test_whole_model_takes_its_own_length_where_none_is_asked_for(
    whole: Path, tmp_path: Path
) -> None:
    path = tmp_path / "models" / "tiny.json"
    path.parent.mkdir()
    grid = grid_of(whole, tmp_path, {})
    describe_model(grid, "tiny", path)
    assert grid.models["tiny"]["max_model_len"] == 16384
    assert longest_text(grid, "tiny", read_description(grid, "tiny")) == 1024


@has_vllm
def test_lists_of_engines_are_read_from_their_source() -> None:
    assert {"LlamaForCausalLM", "Qwen3_5ForConditionalGeneration"} <= classes_of_vllm()
    assert {"fp8", "gptq", "mxfp4", "compressed-tensors"} <= quantizations_of_vllm()


DENSE = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 2,
    "vocab_size": 300,
    "intermediate_size": 384,
    "max_position_embeddings": 1024,
}
EXPERTS = DENSE | {"num_experts": 64, "moe_intermediate_size": 1536}
LAYERS = [f"model.layers.{i}.mlp.down_proj" for i in range(2)]


def refused(folder: Path, config: dict[str, Any], gpus: int, **said: Any) -> list[str]:
    config = {"quantization_config": FP8 | said} | config
    (folder / "config.json").write_text(json.dumps(config))
    return [*refusals_of_blocks(Setup("it", "vllm", folder, gpus=gpus))]


# 384 columns on two GPUs are 192 each, one block of 128 and a half; of one GPU nothing is cut.
@pytest.mark.parametrize(
    ("gpus", "said", "n"),
    [
        (2, {}, 1),
        (1, {}, 0),
        (2, {"modules_to_not_convert": LAYERS}, 0),
        (2, {"ignored_layers": ["mlp"]}, 0),
        (2, {"modules_to_not_convert": LAYERS[:1]}, 1),  # the other layer has blocks
        (2, {"modules_to_not_convert": ["lm_head", "model.layers.0.mlp.gate"]}, 1),
    ],
)
def test_modules_that_are_not_converted_have_no_blocks(
    gpus: int, said: dict[str, Any], n: int, tmp_path: Path
) -> None:
    assert len(refused(tmp_path, DENSE, gpus, **said)) == n


# By hand, of 8 GPUs: 1536 gives 192, and 64 divides 192, 128 and 1024, at least 32: refined.
# 1408 gives 176, and the largest divisor of 176 and 128 is 16: refused. 1024 gives 128: whole.
@pytest.mark.parametrize(("width", "n"), [(1536, 0), (1408, 1), (1024, 0)])
def test_blocks_of_experts_are_refined_where_a_block_of_32_or_more_fits(
    width: int, n: int, tmp_path: Path
) -> None:
    config = EXPERTS | {"moe_intermediate_size": width}
    assert len(refused(tmp_path, config, 8)) == n
    kept = [f"model.layers.{i}.mlp.experts" for i in range(2)]
    assert not refused(tmp_path, config, 8, modules_to_not_convert=kept)
